//! What delivery wants to know of a message later: the text beside it in the store.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    intake::{Accepted, Story},
    log::{Event, Record},
    mail::{Client, Id, Options},
    rules::Change,
};

/// Who sent a message, what the rules did, and what they ask of the upstream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Details {
    /// Who sent it.
    pub client: Client,
    /// The user that a rule named.
    pub user: Option<String>,
    /// Variables for the log.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How many changes the rules made.
    pub rules: usize,
    /// The rules that changed something or decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Arc<str>>,
    /// The changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What is asked of the upstream.
    #[serde(default)]
    pub options: Options,
    /// The message that this one reports about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl Details {
    /// Of a message that comes in now.
    pub(super) fn new(accepted: &Accepted, story: &Story) -> Self {
        let trace = &story.trace;
        Self {
            client: accepted.origin.client.clone(),
            user: trace.user.clone(),
            env: trace.env.clone(),
            rules: trace.count,
            hits: trace.hits.clone(),
            changes: trace.changes.clone(),
            options: accepted.options.clone(),
            about: None,
        }
    }

    /// As text; a message whose details cannot be written goes out all the same.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From the text, or of a client that nobody knows.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            client: Client::new(std::net::Ipv4Addr::UNSPECIFIED.into(), ""),
            user: None,
            env: BTreeMap::new(),
            rules: 0,
            hits: Vec::new(),
            changes: Vec::new(),
            options: Options::default(),
            about: None,
        })
    }

    /// A line of the log about an attempt for that message.
    pub(super) fn record(&self, id: Id) -> Record {
        let mut record = Record::new(Event::Attempt, id);
        record.set_client(&self.client);
        record.user.clone_from(&self.user);
        record.env.clone_from(&self.env);
        record.rules = self.rules;
        record
    }
}
