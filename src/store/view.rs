//! What can be seen of the store.

use bytes::Bytes;
use jiff::Timestamp;

use crate::mail::{Address, Asked, Dsn, Id, Sender};

use super::entry::{Settled, Try};

/// The states of a message; [`super`] tells them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits until it is due.
    Queued,
    /// Is being delivered.
    #[serde(rename = "active")]
    Leased,
    /// Waits for somebody to release it.
    Held,
    /// Every recipient is settled.
    Finished,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Leased, Self::Held, Self::Finished];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "active",
            Self::Held => "held",
            Self::Finished => "finished",
        }
    }
}

/// What became of a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing final yet.
    Pending,
    /// An upstream accepted it.
    Delivered,
    /// Refused for good.
    Failed,
    /// Put off until there was no more time.
    Expired,
    /// An operator removed it.
    Removed,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Delivered, Self::Failed, Self::Expired, Self::Removed];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Removed => "removed",
        }
    }

    /// Whether a sender has to hear of it.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Expired)
    }
}

/// Which messages are wanted; what is nothing does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// In one of these states; none means any.
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
    /// Only what comes behind that one, in the order of the list.
    pub behind: Option<Id>,
    /// How many at most.
    pub count: usize,
}

/// One message in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The message.
    pub id: Id,
    /// Its state.
    pub state: State,
    /// When it is due, when its lease ends, or when it was finished.
    pub when: Option<Timestamp>,
    /// The reverse-path.
    pub sender: Sender,
    /// The user whom the log names.
    pub user: Option<String>,
    /// How many recipients there are, and how many of them are not settled.
    pub recipients: (u32, u32),
    /// The first recipient.
    pub first: Option<Address>,
    /// When it was taken.
    pub received: Timestamp,
    /// The number of its last lease; 0 before the first.
    pub lease: u64,
    /// Rounds of attempts.
    pub rounds: u32,
    /// Octets.
    pub size: u64,
    /// Why it waits or is held.
    pub reason: String,
}

/// All that is known of a message.
#[derive(Clone, Debug)]
pub struct Account {
    /// As in a list.
    pub summary: Summary,
    /// What MAIL asked to hear.
    pub dsn: Dsn,
    /// Its recipients.
    pub recipients: Vec<RecipientView>,
    /// The attempts.
    pub tries: Vec<TryView>,
    /// Its header as it came in, when the rules changed it.
    pub before: Option<Bytes>,
    /// Its header as it leaves.
    pub after: Bytes,
    /// The text of [`super::Entry::details`].
    pub details: String,
}

/// One recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientView {
    /// Its number in the envelope.
    pub ordinal: u32,
    /// The address.
    pub address: Address,
    /// The upstream that has to take it, if a rule said so.
    pub upstream: Option<String>,
    /// What its RCPT asked to hear.
    pub asked: Asked,
    /// How it was settled, when it was.
    pub settled: Option<Settled>,
    /// Whether a report told its sender.
    pub reported: bool,
}

/// One attempt, with its number.
pub type TryView = (u32, Try);

/// How many messages there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That wait until they are due.
    pub queued: u64,
    /// That are being delivered.
    pub leased: u64,
    /// That are held.
    pub held: u64,
    /// When the oldest of these was taken.
    pub oldest: Option<Timestamp>,
    /// Octets that queue and history take.
    pub octets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_written_as_its_word() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.word());
        }
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.word());
        }
    }
}
