//! What one attempt did to one recipient.

use super::Reply;

/// The three ways an attempt can end for a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The upstream accepted it.
    Delivered,
    /// Not now; the same attempt may succeed later.
    Deferred,
    /// Never.
    Failed,
}

impl Fate {
    /// The word for logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Deferred => "deferred",
            Self::Failed => "failed",
        }
    }
}

/// The result of one attempt.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What became of it.
    pub fate: Fate,
    /// What a client hears.
    pub reply: Reply,
    /// The cause in the upstream's own words, for the log.
    pub cause: String,
    /// The upstream's id of the message, when it was accepted.
    pub remote_id: Option<String>,
    /// Whether the upstream may have accepted it although we did not hear so.
    pub ambiguous: bool,
    /// Whether an operator has to act: credentials, permissions, a paused account.
    pub alarm: bool,
}

impl Outcome {
    /// Accepted by the upstream under that id.
    pub fn delivered(remote_id: String, reply: Reply) -> Self {
        Self {
            fate: Fate::Delivered,
            cause: reply.text(),
            reply,
            remote_id: Some(remote_id),
            ambiguous: false,
            alarm: false,
        }
    }

    /// Not accepted: deferred or failed by the class of the reply.
    pub fn refused(reply: Reply, cause: impl Into<String>) -> Self {
        let fate = if reply.is_transient() { Fate::Deferred } else { Fate::Failed };
        Self { fate, reply, cause: cause.into(), remote_id: None, ambiguous: false, alarm: false }
    }

    /// The same, marked as one that an operator has to look at.
    #[must_use]
    pub fn with_alarm(self) -> Self {
        Self { alarm: true, ..self }
    }

    /// The same, marked as one whose message may have been accepted after all.
    #[must_use]
    pub fn with_doubt(self) -> Self {
        Self { ambiguous: true, ..self }
    }
}
