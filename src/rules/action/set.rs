//! `set`: a new value.

use crate::{header::FieldName, rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, field_name, keys};

pub(super) const ROW: ActionRow = ActionRow {
    key: "set",
    group: Group::Header,
    doc: "gives the field a new value; without a selector it adds the field if it is not there",
    example: "do = [{ set = { name = \"Precedence\", value = \"bulk\" } }]",
    compile,
};

#[derive(Debug)]
struct Set {
    name: Option<FieldName>,
    value: Template,
}

impl Action for Set {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let value = scene.render(&self.value)?;
        if value.trim().is_empty() {
            return Ok(Flow::Next);
        }
        let at = match &self.name {
            Some(name) => scene.draft.header.find(name.as_str()).next(),
            None => scene.field,
        };
        match (at, &self.name) {
            (Some(at), _) => scene.edit(at, |draft| draft.header.set(at, &value)),
            (None, Some(name)) => {
                scene.draft.header.append(name, &value);
                let at = scene.draft.header.positions().last().unwrap_or_default();
                let after = scene.draft.header.whole(at).to_vec();
                scene.draft.trace.record(scene.rule, name.as_str(), (None, Some(&after)));
            }
            (None, None) => {}
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let (name, value) = if selecting == Selecting::Fields {
        (None, node)
    } else {
        let [name, value] = keys(node, ["name", "value"], compiler)?;
        (Some(field_name(name, compiler)?), value)
    };
    Some(Box::new(Set { name, value: compiler.template(value)? }))
}
