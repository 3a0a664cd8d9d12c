//! `repair`: the named repairs.

use crate::{rules::repair::REPAIRS, rules::repair::RepairRow, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Scene, TemplateError};

pub(super) const ROW: ActionRow = ActionRow {
    key: "repair",
    doc: "mends the named kinds of damage, and leaves a message without them alone",
    example: "do = [{ repair = [\"line-endings\"] }]",
    compile,
};

#[derive(Debug)]
struct Repair(Vec<&'static RepairRow>);

impl Action for Repair {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        for repair in &self.0 {
            if let Some(done) = (repair.apply)(scene.draft) {
                let field = format!("(repair {})", repair.name);
                scene.draft.trace.record(scene.rule, &field, (None, Some(done.as_bytes())));
            }
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: bool, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let elements = node.as_array().unwrap_or(std::slice::from_ref(node));
    let mut repairs = Vec::new();
    for element in elements {
        let name = compiler.text(element)?;
        match REPAIRS.iter().find(|row| row.name == name) {
            Some(row) => repairs.push(row),
            None => {
                let known: Vec<&str> = REPAIRS.iter().map(|row| row.name).collect();
                compiler.fault(element, format!("there is no repair {name}; known are {}", known.join(", ")));
            }
        }
    }
    Some(Box::new(Repair(repairs)))
}
