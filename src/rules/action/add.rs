//! `add`: one more field, as the last one.

use crate::{header::FieldName, rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, field_name, keys};

pub(super) const ROW: ActionRow = ActionRow {
    key: "add",
    group: Group::Header,
    doc: "adds a field behind the others; an empty value adds none",
    example: "do = [{ add = { name = \"X-Client\", value = \"{{ client }}\" } }]",
    compile,
};

#[derive(Debug)]
struct Add {
    name: Option<FieldName>,
    value: Template,
}

impl Action for Add {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let value = scene.render(&self.value)?;
        let selected = || scene.field.and_then(|at| FieldName::parse(scene.draft.header.name(at)?).ok());
        let Some(name) = self.name.clone().or_else(selected) else { return Ok(Flow::Next) };
        if !value.trim().is_empty() {
            scene.draft.header.append(&name, &value);
            let at = scene.draft.header.positions().last().unwrap_or_default();
            let after = scene.draft.header.whole(at).to_vec();
            scene.draft.trace.record(scene.rule, name.as_str(), (None, Some(&after)));
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let (name, value) = if selecting == Selecting::Fields && node.as_table().is_none() {
        (None, node)
    } else {
        let [name, value] = keys(node, ["name", "value"], compiler)?;
        (Some(field_name(name, compiler)?), value)
    };
    Some(Box::new(Add { name, value: compiler.template(value)? }))
}
