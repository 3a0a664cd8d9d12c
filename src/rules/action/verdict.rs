//! `reject`, `defer`, `discard`, `hold`, `accept`: what becomes of the message.

use std::sync::Arc;

use crate::{
    mail::{Enhanced, Reply},
    rules::{run::Verdict, template::Template},
    tree::Node,
};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, TemplateError};

pub(super) const REJECT: ActionRow = ActionRow {
    key: "reject",
    group: Group::Verdict,
    doc: "ends the run; the client gets this 5xx reply",
    example: "do = [{ reject = \"550 5.7.1 {{ sender }} may not send this\" }]",
    compile: |node, _, compiler| compile(node, compiler, '5'),
};

pub(super) const DEFER: ActionRow = ActionRow {
    key: "defer",
    group: Group::Verdict,
    doc: "ends the run; the client gets this 4xx reply",
    example: "do = [{ defer = \"450 4.7.1 not now\" }]",
    compile: |node, _, compiler| compile(node, compiler, '4'),
};

pub(super) const DISCARD: ActionRow = ActionRow {
    key: "discard",
    group: Group::Verdict,
    doc: "ends the run; the client is told Ok, the message is thrown away and logged",
    example: "do = [{ discard = true }]",
    compile: |node, _, compiler| plain(node, compiler, Plain::Discard),
};

pub(super) const HOLD: ActionRow = ActionRow {
    key: "hold",
    group: Group::Verdict,
    doc: "keeps the message back until it is released; needs the queue",
    example: "do = [{ hold = true }]",
    compile: |node, _, compiler| {
        compiler.needs_queue(node, "hold");
        plain(node, compiler, Plain::Hold)
    },
};

pub(super) const ACCEPT: ActionRow = ActionRow {
    key: "accept",
    group: Group::Verdict,
    doc: "skips the rest of this file's rules",
    example: "do = [{ accept = true }]",
    compile: |node, _, compiler| plain(node, compiler, Plain::Accept),
};

#[derive(Clone, Copy, Debug)]
enum Plain {
    Discard,
    Hold,
    Accept,
}

impl Action for Plain {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        Ok(match self {
            Self::Discard => Flow::End(Verdict::Discard),
            Self::Hold => {
                scene.record("(verdict)", None, Some("hold"));
                scene.draft.held.get_or_insert_with(|| Arc::clone(scene.rule));
                Flow::Next
            }
            Self::Accept => Flow::NextFile,
        })
    }
}

fn plain(node: &Node, compiler: &mut Compiler, action: Plain) -> Option<Box<dyn Action>> {
    if compiler.flag(node)? {
        return Some(Box::new(action));
    }
    compiler.fault(node, "write true; leave the action out to do nothing");
    None
}

#[derive(Debug)]
struct Refuse(Template);

impl Action for Refuse {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let text = scene.render(&self.0)?;
        let unreadable = |_| Reply::new(451, Enhanced(4, 3, 5), &format!("Rule \"{}\" gives no reply", scene.rule));
        let reply: Reply = text.parse().unwrap_or_else(unreadable);
        Ok(Flow::End(if reply.is_transient() { Verdict::Defer(reply) } else { Verdict::Reject(reply) }))
    }
}

/// The code stands in the text itself, so that it can be checked at load.
fn compile(node: &Node, compiler: &mut Compiler, class: char) -> Option<Box<dyn Action>> {
    let text = compiler.text(node)?;
    let fault = match text.parse::<Reply>() {
        Err(message) => Some(message),
        Ok(_) if !text.starts_with(class) => Some(format!("{text:?} does not begin with {class}")),
        Ok(_) => None,
    };
    if let Some(message) = fault {
        compiler.fault(node, message);
        return None;
    }
    Some(Box::new(Refuse(compiler.template(node)?)))
}
