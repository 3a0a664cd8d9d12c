//! `user`: whom the access log names.

use crate::{rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Scene, TemplateError};

pub(super) const ROW: ActionRow = ActionRow {
    key: "user",
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
            let change = (before.as_deref().map(str::as_bytes), Some(user.as_bytes()));
            scene.draft.trace.record(scene.rule, "(user)", change);
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, _: bool, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    Some(Box::new(User(compiler.template(node)?)))
}
