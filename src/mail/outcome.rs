//! What one attempt did to one recipient.

use super::{Enhanced, Reply};

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

/// What an answer says about the upstream as a whole, rather than about the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pressure {
    /// Too fast; the same mail is welcome when it comes slower.
    Rate,
    /// No more today.
    Quota,
}

/// What one attempt did to one recipient.
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
    /// Whether the upstream tells the sender what becomes of it, as a server that offers DSN does.
    pub tells: bool,
    /// Whether the upstream may have accepted it although we did not hear so.
    pub ambiguous: bool,
    /// Whether an operator has to act: credentials, permissions, a paused account.
    pub alarm: bool,
    /// Whether the upstream wants less mail.
    pub pressure: Option<Pressure>,
    /// Whether one recipient of several may have brought the refusal upon all of them.
    pub divisible: bool,
    /// The identities that are not verified, in the upstream's words, when that is the cause.
    pub unverified: Vec<String>,
    /// The HTTP status, when the upstream answered by HTTP.
    pub http: Option<u16>,
}

impl Outcome {
    /// Accepted by the upstream under that id.
    pub fn delivered(remote_id: String, reply: Reply) -> Self {
        Self {
            fate: Fate::Delivered,
            cause: reply.text(),
            reply,
            remote_id: Some(remote_id),
            tells: false,
            ambiguous: false,
            alarm: false,
            pressure: None,
            divisible: false,
            unverified: Vec::new(),
            http: None,
        }
    }

    /// Not accepted: deferred or failed by the class of the reply.
    pub fn refused(reply: Reply, cause: impl Into<String>) -> Self {
        let fate = if reply.is_transient() { Fate::Deferred } else { Fate::Failed };
        Self {
            fate,
            reply,
            cause: cause.into(),
            remote_id: None,
            tells: false,
            ambiguous: false,
            alarm: false,
            pressure: None,
            divisible: false,
            unverified: Vec::new(),
            http: None,
        }
    }

    /// The same, marked as one that an operator has to look at.
    #[must_use]
    pub fn with_alarm(self) -> Self {
        Self { alarm: true, ..self }
    }

    /// The same, marked as one that asks for less mail.
    #[must_use]
    pub fn with_pressure(self, pressure: Pressure) -> Self {
        Self { pressure: Some(pressure), ..self }
    }

    /// The same, marked as one whose message may have been accepted after all.
    #[must_use]
    pub fn with_doubt(self) -> Self {
        Self { ambiguous: true, ..self }
    }
}

/// What one attempt did to its recipients.
#[derive(Clone, Debug)]
pub enum Outcomes {
    /// The same to all of them.
    All(Outcome),
    /// To each its own, in the order of the attempt's recipients.
    Each(Vec<Outcome>),
}

impl Outcomes {
    /// What became of the recipient at that place; one that was not told of may have been accepted.
    pub fn of(&self, index: usize) -> Outcome {
        match self {
            Self::All(outcome) => outcome.clone(),
            Self::Each(outcomes) => outcomes.get(index).cloned().unwrap_or_else(|| {
                let reply = Reply::new(451, Enhanced(4, 4, 2), "The upstream did not tell of this recipient");
                Outcome::refused(reply, "ambiguous: no outcome for this recipient").with_doubt()
            }),
        }
    }

    /// The one answer for all: the outcome when it is the same for all, else the worst. A deferral is worse than a
    /// failure: whoever hears it may come again, and only then can the others be settled.
    pub fn worst(self) -> Outcome {
        let weight = |outcome: &Outcome| match outcome.fate {
            Fate::Delivered => 0,
            Fate::Failed => 1,
            Fate::Deferred => 2,
        };
        match self {
            Self::All(outcome) => outcome,
            Self::Each(outcomes) => {
                let none = Self::Each(Vec::new()).of(0);
                outcomes.into_iter().max_by_key(weight).unwrap_or(none)
            }
        }
    }
}
