//! `env`: variables for the access log, shown by `%{NAME}e`.

use crate::{rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Scene, TemplateError};

pub(super) const ROW: ActionRow = ActionRow {
    key: "env",
    doc: "sets variables, which the access log shows by %{NAME}e; an empty text sets none",
    example: "do = [{ env = { RTUSER = \"{{ user }}\" } }]",
    compile,
};

#[derive(Debug)]
struct Env(Vec<(String, Template)>);

impl Action for Env {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        for (name, template) in &self.0 {
            let value = scene.render(template)?;
            if !value.trim().is_empty() {
                let before = scene.draft.trace.env.insert(name.clone(), value.trim().to_owned());
                let change = (before.as_deref().map(str::as_bytes), Some(value.as_bytes()));
                scene.draft.trace.record(scene.rule, &format!("(env {name})"), change);
            }
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: bool, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let Some(entries) = node.as_table() else {
        compiler.fault(node, "env is a table, such as { RTUSER = \"{{ user }}\" }");
        return None;
    };
    let variables: Option<Vec<_>> =
        entries.iter().map(|entry| Some((entry.key.clone(), compiler.template(&entry.node)?))).collect();
    Some(Box::new(Env(variables?)))
}
