//! What the rules did: rule → field → before → after.

use std::{collections::BTreeMap, sync::Arc};

/// Changes kept of one message, and characters kept of each value; more are counted only.
const CHANGES: usize = 1000;
const TEXT: usize = 1000;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Change {
    /// The rule that made it.
    pub rule: Arc<str>,
    /// The field, or `(user)`, `(env NAME)`, `(verdict)`, `(message)`.
    pub field: String,
    /// The field as it was, or nothing.
    pub before: Option<String>,
    /// The field as it is, or nothing.
    pub after: Option<String>,
}

/// All that the rules did to one message besides editing it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The changes, the first thousand of them.
    pub changes: Vec<Change>,
    /// How many there were.
    pub count: usize,
    /// The rules that changed something or decided, in their order.
    pub hits: Vec<Arc<str>>,
    /// The user that a rule named.
    pub user: Option<String>,
    /// Variables for the log.
    pub env: BTreeMap<String, String>,
}

impl Trace {
    pub(super) fn record(&mut self, rule: &Arc<str>, field: &str, change: (Option<&[u8]>, Option<&[u8]>)) {
        self.count += 1;
        if self.changes.len() < CHANGES {
            let (before, after) = (change.0.map(shown), change.1.map(shown));
            self.changes.push(Change {
                rule: Arc::clone(rule),
                field: field.chars().take(TEXT).collect(),
                before,
                after,
            });
        }
    }
}

fn shown(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets.get(..TEXT).unwrap_or(octets));
    text.trim_matches(['\r', '\n', ' ', '\t']).to_owned()
}
