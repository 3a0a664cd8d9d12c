//! What an operator may ask for: one line of JSON each.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    mail::{Address, Asks, Dsn, Id},
    store::{Filter, State},
};

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Messages, the newest first; without states, those that are not finished.
    List {
        /// Which.
        #[serde(default)]
        query: Query,
        /// How many at most.
        #[serde(default)]
        limit: Option<usize>,
    },
    /// All that is known of a message.
    Show {
        /// Which.
        id: Id,
    },
    /// Makes queued messages due now.
    Retry {
        /// Which.
        which: Which,
        /// Whether the present rules run on them first.
        #[serde(default)]
        rules: bool,
    },
    /// Holds messages until they are released.
    Hold {
        /// Which.
        which: Which,
        /// Why, for who looks at them later.
        reason: String,
    },
    /// Makes held messages queued, due now.
    Release {
        /// Which.
        which: Which,
    },
    /// Finishes messages; who has not got them does not get them.
    Delete {
        /// Which.
        which: Which,
    },
    /// Messages as they would leave.
    Export {
        /// Which.
        which: Which,
    },
    /// Takes a message in; [`Letter::octets`] of it follow the request.
    Import(Letter),
    /// How each upstream is.
    Upstreams,
}

impl Request {
    /// Whether it is answered by running rules.
    pub fn needs_rules(&self) -> bool {
        matches!(self, Self::Retry { rules: true, .. } | Self::Import(Letter { rules: true, .. }))
    }

    /// Octets that follow it.
    pub fn octets(&self) -> u64 {
        if let Self::Import(letter) = self { letter.octets } else { 0 }
    }
}

/// Messages that something is done to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Those.
    Ids(Vec<Id>),
    /// All such.
    All(Query),
}

/// What messages are like; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// In one of these states; without any, in those that the verb is for.
    pub states: Vec<State>,
    /// With that reverse-path, without case; empty for the null path.
    pub sender: Option<String>,
    /// Of that user.
    pub user: Option<String>,
    /// With that recipient, without case.
    pub recipient: Option<String>,
    /// Taken before that time.
    pub before: Option<Timestamp>,
    /// Taken at that time or later.
    pub since: Option<Timestamp>,
}

impl Query {
    /// The same for the store, from the newest on.
    pub(super) fn filter(&self, states: &[State]) -> Filter {
        Filter {
            states: if self.states.is_empty() { states.to_vec() } else { self.states.clone() },
            sender: self.sender.clone(),
            user: self.user.clone(),
            recipient: self.recipient.clone(),
            before: self.before,
            since: self.since,
            behind: None,
            count: 0,
        }
    }
}

/// A message to take in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letter {
    /// The reverse-path; nothing for the null path.
    pub sender: Option<Address>,
    /// The forward-paths, at least one.
    pub recipients: Vec<Address>,
    /// What the client asked to hear (RFC 3461).
    #[serde(default, skip_serializing_if = "Dsn::is_empty")]
    pub dsn: Dsn,
    /// The same of each recipient that it asked anything of.
    #[serde(default, skip_serializing_if = "Asks::is_empty")]
    pub asked: Asks,
    /// The user whom the log names, unless a rule names another.
    #[serde(default)]
    pub user: Option<String>,
    /// Whether rules and lint look at it, as at other mail.
    pub rules: bool,
    /// Its length.
    pub octets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        let id = Id::mint();
        let query = Query { states: vec![State::Leased], sender: Some(String::new()), ..Query::default() };
        let address = Address::parse("a@example.com").unwrap();
        let letter = Letter {
            sender: None,
            recipients: vec![address],
            dsn: Dsn::default(),
            asked: Asks::default(),
            user: None,
            rules: true,
            octets: 7,
        };
        for request in [
            Request::List { query: query.clone(), limit: Some(3) },
            Request::Show { id },
            Request::Retry { which: Which::Ids(vec![id]), rules: true },
            Request::Hold { which: Which::All(query), reason: "x".to_owned() },
            Request::Import(letter),
            Request::Upstreams,
        ] {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_done_without_it() {
        let id = Id::nil();
        for text in [
            format!("{{\"verb\":\"retry\",\"which\":{{\"ids\":[\"{id}\"]}},\"rule\":true}}"),
            "{\"verb\":\"delete\",\"which\":{\"all\":{\"sendr\":\"a@example.com\"}}}".to_owned(),
            "{\"verb\":\"delete\"}".to_owned(),
            "{\"verb\":\"list\",\"query\":{\"states\":[\"deferred\"]}}".to_owned(),
            "[]".to_owned(),
        ] {
            assert!(serde_json::from_str::<Request>(&text).is_err(), "{text}");
        }
    }
}
