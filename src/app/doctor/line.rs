//! What a check says.

use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it has to be.
    Ok,
    /// It was not looked at, or does not apply.
    Skip,
    /// Mail goes out, and something is to be known or done.
    Warn,
    /// Mail does not go out, or not all of it.
    Fail,
}

/// One line of `headgate doctor`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Line {
    /// The check.
    pub check: &'static str,
    /// The upstream; none for what is about the gateway.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do; empty where nothing is to be done.
    #[serde(rename = "todo", skip_serializing_if = "String::is_empty")]
    pub action: String,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) state: State,
    pub(super) text: String,
    pub(super) action: String,
}

impl Found {
    pub(super) fn ok(text: impl Into<String>) -> Self {
        Self { state: State::Ok, text: text.into(), action: String::new() }
    }

    pub(super) fn skip(text: impl Into<String>) -> Self {
        Self { state: State::Skip, text: text.into(), action: String::new() }
    }

    pub(super) fn warn(text: impl Into<String>, action: impl Into<String>) -> Self {
        Self { state: State::Warn, text: text.into(), action: action.into() }
    }

    pub(super) fn fail(text: impl Into<String>, action: impl Into<String>) -> Self {
        Self { state: State::Fail, text: text.into(), action: action.into() }
    }

    /// With something to do.
    pub(super) fn with(self, action: impl Into<String>) -> Self {
        Self { action: action.into(), ..self }
    }

    pub(super) fn line(self, check: &'static str, upstream: &str) -> Line {
        Line { check, upstream: upstream.to_owned(), state: self.state, found: self.text, action: self.action }
    }
}
