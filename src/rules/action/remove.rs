//! `remove`: the field goes, with all its lines.

use crate::{header::FieldName, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, field_name};

pub(super) const ROW: ActionRow = ActionRow {
    key: "remove",
    group: Group::Header,
    doc: "takes the field out, with all its folded lines",
    example: "do = [{ remove = \"Bcc\" }]",
    compile,
};

#[derive(Debug)]
struct Remove(Option<FieldName>);

impl Action for Remove {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let positions = match &self.0 {
            Some(name) => scene.draft.header.find(name.as_str()).collect(),
            None => scene.field.into_iter().collect::<Vec<_>>(),
        };
        for at in positions {
            scene.edit(at, |draft| draft.header.remove(at));
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    if selecting != Selecting::Fields {
        return Some(Box::new(Remove(Some(field_name(node, compiler)?))));
    }
    if compiler.flag(node)? {
        return Some(Box::new(Remove(None)));
    }
    compiler.fault(node, "with a header selector, write remove = true");
    None
}
