//! `rename`: another name, the value untouched.

use crate::{header::FieldName, rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, field_name, keys};

pub(super) const ROW: ActionRow = ActionRow {
    key: "rename",
    group: Group::Header,
    doc: "gives the field another name; its value keeps every octet",
    example: "header = { name = \"RT-*\" }\ndo = [{ rename = \"X-{{ name }}\" }]",
    compile,
};

#[derive(Debug)]
struct Rename {
    from: Option<FieldName>,
    to: Template,
}

impl Action for Rename {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let text = scene.render(&self.to)?;
        let Ok(name) = FieldName::parse(text.trim()) else { return Ok(Flow::Next) };
        let positions = match &self.from {
            Some(from) => scene.draft.header.find(from.as_str()).collect(),
            None => scene.field.into_iter().collect::<Vec<_>>(),
        };
        for at in positions {
            scene.edit(at, |draft| draft.header.rename(at, &name));
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let (from, to) = if selecting == Selecting::Fields {
        (None, node)
    } else {
        let [name, to] = keys(node, ["name", "to"], compiler)?;
        (Some(field_name(name, compiler)?), to)
    };
    let to_template = compiler.template(to)?;
    if let Template::Literal(_) = to_template {
        field_name(to, compiler)?;
    }
    Some(Box::new(Rename { from, to: to_template }))
}
