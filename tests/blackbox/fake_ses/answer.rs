//! What a test wants a send call to be answered. Enters: the test's wishes; leaves: one [`Answer`] a call.
//! It must not know what SES refuses: an [`Answer::Accept`] is still subject to `law`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::call::Call;

/// How one send call is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What SES would say: a MessageId, or the refusal that the request earns.
    Accept,
    /// This error, whatever the request holds.
    Error {
        /// HTTP status.
        status: u16,
        /// For `x-amzn-errortype`.
        kind: String,
        /// For the body.
        message: String,
    },
    /// 429: the account sends faster than its MaxSendRate.
    Throttle,
    /// The other answer, later. What SES decides then holds even if the client has gone in the meantime.
    Delay(Duration, Box<Answer>),
    /// None, until the fake is stopped or released. Nothing is accepted if the client goes first.
    Hang,
    /// The connection is closed after the head of the request; the call is counted, not recorded.
    CutBeforeReading,
    /// The request is read whole, then the connection closes without an answer, and nothing was accepted.
    CutAfterReading,
    /// As `Accept`, but an accepted message's connection closes without an answer.
    AcceptThenCut,
}

impl Answer {
    /// An error answer.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::Error { status, kind: kind.into(), message: message.into() }
    }

    /// An answer that comes later.
    pub fn after(delay: Duration, answer: Answer) -> Self {
        Self::Delay(delay, Box::new(answer))
    }

    /// The whole delay, and what comes after it: never a `Delay`.
    pub(super) fn flat(self) -> (Duration, Self) {
        let (mut delay, mut answer) = (Duration::ZERO, self);
        while let Self::Delay(more, next) = answer {
            delay = delay.saturating_add(more);
            answer = *next;
        }
        (delay, answer)
    }
}

/// An answer other than 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The error type, as in `x-amzn-errortype`.
    pub kind: String,
    /// The text, as in the body's `message`.
    pub message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.into(), message: message.into() }
    }

    /// What API v2 says wherever API v1 says `InvalidParameterValue`.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequestException", message)
    }

    /// What SES says above MaxSendRate.
    pub(super) fn throttled() -> Self {
        let message = "Maximum sending rate exceeded.";
        Self::new(429, "TooManyRequestsException", message)
    }
}

/// A condition on a call.
type Test = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// All wishes, in the order of their rank: the script, `every`, `when`, `otherwise`.
pub(super) struct Plan {
    pub(super) script: VecDeque<Answer>,
    pub(super) every: Vec<(u64, Answer)>,
    pub(super) when: Vec<(Test, Answer)>,
    pub(super) otherwise: Answer,
}

impl Default for Plan {
    fn default() -> Self {
        Self { script: VecDeque::new(), every: Vec::new(), when: Vec::new(), otherwise: Answer::Accept }
    }
}

impl Plan {
    /// The answer to the call of this number, or the conditions that need to see the call first.
    pub(super) fn claim(&mut self, number: u64) -> Claim {
        let periodic = || {
            let mut each = self.every.iter();
            each.find(|(n, _)| number.is_multiple_of(*n)).map(|(_, answer)| answer.clone())
        };
        match self.script.pop_front().or_else(periodic) {
            Some(answer) => Claim::Settled(answer),
            None if self.when.is_empty() => Claim::Settled(self.otherwise.clone()),
            None => Claim::Conditional(self.when.clone(), self.otherwise.clone()),
        }
    }
}

/// What is known of an answer before the body is read.
pub(super) enum Claim {
    /// The answer.
    Settled(Answer),
    /// The first of these whose condition holds, or the last resort. The conditions are copies: they run without
    /// the plan's lock and may use the fake.
    Conditional(Vec<(Test, Answer)>, Answer),
}

impl Claim {
    /// Whether the connection is to be cut with the body unread, and when.
    pub(super) fn cut_before_reading(&self) -> Option<Duration> {
        let Self::Settled(answer) = self else {
            return None;
        };
        let (delay, last) = answer.clone().flat();
        (last == Answer::CutBeforeReading).then_some(delay)
    }

    /// The answer to the call, now that it is read.
    pub(super) fn answer(self, call: &Call) -> Answer {
        match self {
            Self::Settled(answer) => answer,
            Self::Conditional(when, otherwise) => {
                let mut matching = when.into_iter().filter(|(test, _)| test(call));
                matching.next().map_or(otherwise, |(_, answer)| answer)
            }
        }
    }
}
