//! `configuration_set`, `tag`, `from_identity_arn`, `list_management`, `upstream`: what is asked of the upstream.

use crate::{mail::Options, rules::template::Template, tree::Node};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, TemplateError};

pub(super) const CONFIGURATION_SET: ActionRow = ActionRow {
    key: "configuration_set",
    group: Group::Ses,
    doc: "SES: the configuration set of this message",
    example: "do = [{ configuration_set = \"marketing\" }]",
    compile: |node, _, compiler| one(node, compiler, ("(configuration set)", |options| &mut options.configuration_set)),
};

pub(super) const FROM_IDENTITY_ARN: ActionRow = ActionRow {
    key: "from_identity_arn",
    group: Group::Ses,
    doc: "SES: the ARN of the identity whose policy lets us send",
    example: "do = [{ from_identity_arn = \"arn:aws:ses:eu-west-1:123456789012:identity/example.com\" }]",
    compile: |node, _, compiler| one(node, compiler, ("(from identity)", |options| &mut options.from_identity_arn)),
};

pub(super) const LIST_MANAGEMENT: ActionRow = ActionRow {
    key: "list_management",
    group: Group::Ses,
    doc: "SES: the contact list, and perhaps its topic, for its unsubscribe links",
    example: "do = [{ list_management = \"customers; topic=news\" }]",
    compile: |node, _, compiler| one(node, compiler, ("(list management)", |options| &mut options.list_management)),
};

pub(super) const UPSTREAM: ActionRow = ActionRow {
    key: "upstream",
    group: Group::Route,
    doc: "the upstream that has to take this message, or with a recipient selector these recipients, which needs the queue",
    example: "do = [{ upstream = \"ireland\" }]",
    compile: upstream,
};

pub(super) const TAG: ActionRow = ActionRow {
    key: "tag",
    group: Group::Ses,
    doc: "SES: tags for its events; octets other than letters, digits, _ and - become _",
    example: "do = [{ tag = { team = \"{{ from | domain }}\" } }]",
    compile: tag,
};

fn upstream(node: &Node, selecting: super::Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    if selecting == super::Selecting::Recipients {
        compiler.needs_queue(node, "an upstream for some of the recipients");
        return Some(Box::new(Route(compiler.template(node)?)));
    }
    one(node, compiler, ("(upstream)", |options| &mut options.upstream))
}

/// The upstream of the selected recipient.
#[derive(Debug)]
struct Route(Template);

impl Action for Route {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let value = scene.render(&self.0)?.trim().to_owned();
        let recipient = scene.recipient.as_ref().map(ToString::to_string);
        if let (false, Some(recipient)) = (value.is_empty(), recipient) {
            let before = scene.draft.options.routes.insert(recipient.clone(), value.clone());
            scene.record(&format!("(upstream of {recipient})"), before.as_deref(), Some(&value));
        }
        Ok(Flow::Next)
    }
}

type Slot = (&'static str, fn(&mut Options) -> &mut Option<String>);

#[derive(Debug)]
struct One {
    template: Template,
    slot: Slot,
}

impl Action for One {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let value = scene.render(&self.template)?;
        let value = value.trim().to_owned();
        if !value.is_empty() {
            let (what, slot) = self.slot;
            let before = slot(&mut scene.draft.options).replace(value.clone());
            scene.record(what, before.as_deref(), Some(&value));
        }
        Ok(Flow::Next)
    }
}

fn one(node: &Node, compiler: &mut Compiler, slot: Slot) -> Option<Box<dyn Action>> {
    Some(Box::new(One { template: compiler.template(node)?, slot }))
}

#[derive(Debug)]
struct Tag(Vec<(String, Template)>);

impl Action for Tag {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        for (name, template) in &self.0 {
            let value = word(&scene.render(template)?);
            if !value.is_empty() {
                let before = scene.draft.options.tags.insert(name.clone(), value.clone());
                scene.record(&format!("(tag {name})"), before.as_deref(), Some(&value));
            }
        }
        Ok(Flow::Next)
    }
}

/// What SES takes as the value of a tag (SES API, MessageTag).
fn word(text: &str) -> String {
    let legal = |one: char| if one.is_ascii_alphanumeric() || matches!(one, '_' | '-') { one } else { '_' };
    text.trim().chars().take(256).map(legal).collect()
}

fn tag(node: &Node, _: super::Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let Some(entries) = node.as_table() else {
        compiler.fault(node, "tag is a table, such as { team = \"ops\" }");
        return None;
    };
    let mut tags = Vec::new();
    for entry in entries {
        if entry.key != word(&entry.key) {
            compiler.fault_at(&entry.place, format!("{:?} is no tag name; it has letters, digits, _ and -", entry.key));
        }
        tags.push((entry.key.clone(), compiler.template(&entry.node)?));
    }
    Some(Box::new(Tag(tags)))
}
