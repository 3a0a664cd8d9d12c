//! `env`: variables for the access log, shown by `%{NAME}e`.

use crate::{rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError};

pub(super) const ROW: ActionRow = ActionRow {
    key: "env",
    group: Group::Log,
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
                scene.record(&format!("(env {name})"), before.as_deref(), Some(&value));
            }
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let Some(entries) = node.as_table() else {
        compiler.fault(node, "env is a table, such as { RTUSER = \"{{ user }}\" }");
        return None;
    };
    let variables: Option<Vec<_>> =
        entries.iter().map(|entry| Some((entry.key.clone(), compiler.template(&entry.node)?))).collect();
    Some(Box::new(Env(variables?)))
}
