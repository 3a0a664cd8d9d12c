//! `sender`, `add_recipient`, `remove_recipient`, `redirect`: the envelope.
//!
//! With a `recipient` selector they run once for each selected recipient; without one, `remove_recipient` names whom.

use crate::{
    mail::{Address, Sender},
    rules::{
        pattern::{Case, Pattern},
        template::Template,
    },
    tree::Node,
};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError};

pub(super) const SENDER: ActionRow = ActionRow {
    key: "sender",
    group: Group::Envelope,
    doc: "another envelope sender; \"<>\" is the null sender",
    example: "do = [{ sender = \"bounces@example.com\" }]",
    compile: |node, _, compiler| Some(Box::new(Mail(compiler.template(node)?))),
};

pub(super) const ADD_RECIPIENT: ActionRow = ActionRow {
    key: "add_recipient",
    group: Group::Envelope,
    doc: "one more recipient, if it is none already",
    example: "do = [{ add_recipient = \"archive@example.com\" }]",
    compile: |node, _, compiler| Some(Box::new(Add(compiler.template(node)?))),
};

pub(super) const REMOVE_RECIPIENT: ActionRow = ActionRow {
    key: "remove_recipient",
    group: Group::Envelope,
    doc: "takes recipients out; when none is left the message is discarded",
    example: "do = [{ remove_recipient = \"*@old.example.com\" }]",
    compile: remove,
};

pub(super) const REDIRECT: ActionRow = ActionRow {
    key: "redirect",
    group: Group::Envelope,
    doc: "this recipient in the place of the selected one, without a recipient selector in the place of all",
    example: "do = [{ redirect = \"test@example.com\" }]",
    compile: |node, _, compiler| Some(Box::new(Redirect(compiler.template(node)?))),
};

#[derive(Debug)]
struct Mail(Template);

impl Action for Mail {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let text = scene.render(&self.0)?;
        let sender = match text.trim() {
            "" => return Ok(Flow::Next),
            "<>" => Sender(None),
            text => match Address::parse(text) {
                Ok(address) => Sender(Some(address)),
                Err(_) => return Ok(Flow::Next),
            },
        };
        let before = scene.draft.envelope.sender.to_string();
        let after = sender.to_string();
        scene.draft.envelope.sender = sender;
        scene.record("(sender)", Some(&before), Some(&after));
        Ok(Flow::Next)
    }
}

#[derive(Debug)]
struct Add(Template);

impl Action for Add {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let text = scene.render(&self.0)?;
        if let Ok(address) = Address::parse(text.trim()) {
            add(scene, address);
        }
        Ok(Flow::Next)
    }
}

fn add(scene: &mut Scene<'_>, address: Address) {
    if !scene.draft.envelope.recipients.contains(&address) {
        let after = address.to_string();
        scene.draft.envelope.recipients.push(address);
        scene.record("(recipient)", None, Some(&after));
    }
}

#[derive(Debug)]
struct Remove(Option<Pattern>);

impl Action for Remove {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let meant = |address: &Address| match (&self.0, &scene.recipient) {
            (Some(pattern), _) => pattern.matches(&address.to_string()),
            (None, Some(selected)) => address == selected,
            (None, None) => false,
        };
        let (gone, kept): (Vec<_>, Vec<_>) = scene.draft.envelope.recipients.iter().cloned().partition(meant);
        scene.draft.envelope.recipients = kept;
        for address in gone {
            scene.record("(recipient)", Some(&address.to_string()), None);
        }
        Ok(Flow::Next)
    }
}

fn remove(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    if selecting != Selecting::Recipients {
        return Some(Box::new(Remove(Some(Pattern::compile(node, Case::Ignored, compiler)?))));
    }
    if compiler.flag(node)? {
        return Some(Box::new(Remove(None)));
    }
    compiler.fault(node, "with a recipient selector, write remove_recipient = true");
    None
}

#[derive(Debug)]
struct Redirect(Template);

impl Action for Redirect {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let text = scene.render(&self.0)?;
        let Ok(address) = Address::parse(text.trim()) else { return Ok(Flow::Next) };
        let selected = scene.recipient.clone();
        let replaced = |one: &Address| selected.as_ref().is_none_or(|selected| one == selected) && *one != address;
        let (gone, kept): (Vec<_>, Vec<_>) = scene.draft.envelope.recipients.iter().cloned().partition(replaced);
        scene.draft.envelope.recipients = kept;
        let mut is_there = scene.draft.envelope.recipients.contains(&address);
        for one in gone {
            scene.record("(recipient)", Some(&one.to_string()), None);
            // Who wants no report of the one wants none of the other (RFC 3461 section 5.2.7).
            let asks = &mut scene.draft.envelope.asked;
            let asked = asks.of(&one);
            if is_there {
                asks.join(&address, &asked);
            } else {
                asks.add(&address, asked);
            }
            is_there = true;
        }
        add(scene, address);
        Ok(Flow::Next)
    }
}
