//! `repair`: the named repairs.

use crate::{
    rules::repair::{Mending, REPAIRS, RepairRow},
    tree::Node,
};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, Verdict};

pub(super) const ROW: ActionRow = ActionRow {
    key: "repair",
    group: Group::Message,
    doc: "mends the named kinds of damage, and leaves a message without them alone",
    example: "do = [{ repair = [\"line-endings\"] }]",
    compile,
};

#[derive(Debug)]
struct Repair(Vec<&'static RepairRow>);

impl Action for Repair {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        for row in &self.0 {
            let mut mending =
                Mending { draft: &mut *scene.draft, facts: scene.facts, rule: scene.rule, repair: row.name };
            if let Err(reply) = (row.apply)(&mut mending) {
                return Ok(Flow::End(Verdict::Reject(reply)));
            }
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
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
