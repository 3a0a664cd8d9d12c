//! Actions, one file each: the keys of the tables in `do`.
//!
//! With a `header` selector the header actions run once for each selected field and take no name; without one, they
//! name a field.

mod add;
mod env;
mod envelope;
mod options;
mod remove;
mod rename;
mod repair;
mod replace;
mod set;
mod user;
mod verdict;

use std::fmt::Debug;

use crate::{
    header::FieldName,
    tree::{Entry, Node},
};

use super::{
    file::Compiler,
    run::{Scene, Verdict},
    template::TemplateError,
};

/// A compiled action.
pub(super) trait Action: Debug + Send + Sync {
    /// Does it.
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError>;
}

/// How it goes on behind an action.
#[derive(Debug)]
pub(super) enum Flow {
    Next,
    NextFile,
    End(Verdict),
}

/// What an action acts on; the groups of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Header fields.
    Header,
    /// The message as a whole.
    Message,
    /// Sender and recipients.
    Envelope,
    /// What SES is asked for.
    Ses,
    /// Which upstream it takes.
    Route,
    /// What the log tells.
    Log,
    /// What becomes of it.
    Verdict,
}

/// What a rule selects, for each of which its actions run once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selecting {
    Nothing,
    Fields,
    Recipients,
}

/// One key of a table in `do`.
pub struct ActionRow {
    /// The key.
    pub key: &'static str,
    /// What it acts on.
    pub group: Group,
    /// What it does.
    pub doc: &'static str,
    /// A rule's lines that use it.
    pub example: &'static str,
    pub(super) compile: fn(&Node, Selecting, &mut Compiler) -> Option<Box<dyn Action>>,
}

/// All keys of the tables in `do`.
pub const ACTIONS: &[ActionRow] = &[
    rename::ROW,
    remove::ROW,
    add::ROW,
    set::ROW,
    replace::ROW,
    repair::ROW,
    envelope::SENDER,
    envelope::ADD_RECIPIENT,
    envelope::REMOVE_RECIPIENT,
    envelope::REDIRECT,
    options::CONFIGURATION_SET,
    options::TAG,
    options::FROM_IDENTITY_ARN,
    options::LIST_MANAGEMENT,
    options::UPSTREAM,
    user::ROW,
    env::ROW,
    verdict::REJECT,
    verdict::DEFER,
    verdict::DISCARD,
    verdict::HOLD,
    verdict::ACCEPT,
];

/// Compiles `do`: an array of tables with one key each.
pub(super) fn compile_all(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Vec<Box<dyn Action>> {
    let elements = node.as_array().unwrap_or(std::slice::from_ref(node));
    let mut actions = Vec::new();
    for element in elements {
        let entry = match element.as_table() {
            Some([only]) => only,
            _ => {
                compiler.fault(element, "an action is a table with one key, such as { remove = \"X-Old\" }");
                continue;
            }
        };
        match ACTIONS.iter().find(|row| row.key == entry.key) {
            Some(row) => match misplaced(row, selecting, compiler.rcpt) {
                Some(message) => compiler.fault_at(&entry.place, message),
                None => actions.extend((row.compile)(&entry.node, selecting, compiler)),
            },
            None => {
                let known: Vec<&str> = ACTIONS.iter().map(|row| row.key).collect();
                compiler.unknown(entry, &known.join(", "));
            }
        }
    }
    actions
}

/// Why an action cannot stand in a rule.
fn misplaced(row: &ActionRow, selecting: Selecting, rcpt: bool) -> Option<String> {
    let key = row.key;
    if rcpt && !["reject", "defer"].contains(&key) {
        return Some(format!("{key} cannot be done at RCPT; reject and defer can"));
    }
    match (selecting, row.group) {
        (Selecting::Recipients, Group::Envelope) if key != "sender" => None,
        (Selecting::Recipients, Group::Route) => None,
        (Selecting::Recipients, _) => {
            Some(format!("{key} is about the whole message; it cannot follow a recipient selector"))
        }
        (Selecting::Nothing | Selecting::Fields, _) => None,
    }
}

/// The nodes of a table that has exactly these keys.
fn keys<'a, const N: usize>(node: &'a Node, wanted: [&str; N], compiler: &mut Compiler) -> Option<[&'a Node; N]> {
    let entries: &[Entry] = node.as_table().unwrap_or_default();
    let found = wanted.map(|key| node.child(key));
    if entries.len() != N || found.iter().any(Option::is_none) {
        compiler.fault(node, format!("a table with the keys {} is needed here", wanted.join(", ")));
        return None;
    }
    Some(found.map(|one| one.unwrap_or(node)))
}

/// A field name that is known at load.
fn field_name(node: &Node, compiler: &mut Compiler) -> Option<FieldName> {
    let text = compiler.text(node)?;
    match FieldName::parse(text) {
        Ok(name) => Some(name),
        Err(message) => {
            compiler.fault(node, message);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::{ACTIONS, MATCHERS, Rules, SourceText};

    #[test]
    fn every_example_compiles() {
        let conditions = MATCHERS.iter().map(|row| {
            (row.key, format!("[[rule]]\nname = \"x\"\nwhen = {}\ndo = [{{ accept = true }}]\n", row.example))
        });
        let actions = ACTIONS.iter().map(|row| (row.key, format!("[[rule]]\nname = \"x\"\n{}\n", row.example)));
        for (key, text) in conditions.chain(actions) {
            let source = SourceText { name: key.to_owned(), text };
            assert!(Rules::compile(std::slice::from_ref(&source), &Default::default()).is_ok(), "{source:?}");
            assert!(source.text.contains(key), "the example of {key} does not use it");
        }
    }
}
