//! `user`: whom the access log names.

use crate::{rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError};

pub(super) const ROW: ActionRow = ActionRow {
    key: "user",
    group: Group::Log,
    doc: "names the user behind the message for the access log; an empty text names nobody",
    example: "do = [{ user = \"{{ header['X-RT-Originator'] | address }}\" }]",
    compile,
};

#[derive(Debug)]
struct User(Template);

impl Action for User {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let user = scene.render(&self.0)?;
        let user = user.trim();
        if !user.is_empty() {
            let before = scene.draft.trace.user.replace(user.to_owned());
            scene.record("(user)", before.as_deref(), Some(user));
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    Some(Box::new(User(compiler.template(node)?)))
}
