//! What delivery wants to know of a message later: the text beside it in the store.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    intake::{Accepted, Story},
    log::{Event, Record},
    mail::{Client, Id, Options},
    rules::Change,
};

/// Changes kept of a message whose rules run again and again; more are counted only.
const CHANGES: usize = 1000;

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
    /// Whether MAIL carried SMTPUTF8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smtputf8: bool,
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
    pub fn new(accepted: &Accepted, story: &Story) -> Self {
        let trace = &story.trace;
        Self {
            client: accepted.origin.client.clone(),
            user: trace.user.clone(),
            env: trace.env.clone(),
            smtputf8: accepted.envelope.smtputf8,
            rules: trace.count,
            hits: trace.hits.clone(),
            changes: trace.changes.clone(),
            options: accepted.options.clone(),
            about: None,
        }
    }

    /// Of the same message when rules have run on it once more: what they did is added to what was done before, what
    /// they ask of the upstream takes the place of what was asked, and a user stays named until another is.
    #[must_use]
    pub fn renewed(self, accepted: &Accepted, story: &Story) -> Self {
        let new = Self::new(accepted, story);
        let Self { mut env, mut hits, mut changes, .. } = self;
        env.extend(new.env);
        for hit in new.hits {
            if !hits.contains(&hit) {
                hits.push(hit);
            }
        }
        changes.extend(new.changes);
        changes.truncate(CHANGES);
        let (user, rules) = (new.user.or(self.user), self.rules.saturating_add(new.rules));
        Self { user, env, rules, hits, changes, options: new.options, ..self }
    }

    /// As text; a message whose details cannot be written goes out all the same.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From the text, or of a client that nobody knows.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            client: Client::new(std::net::Ipv4Addr::UNSPECIFIED.into(), ""),
            user: None,
            env: BTreeMap::new(),
            smtputf8: false,
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
