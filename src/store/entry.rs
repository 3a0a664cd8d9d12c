//! What goes into the store and what a worker gets of it.

use bytes::Bytes;
use jiff::Timestamp;

use crate::mail::{Address, Asked, Dsn, Id, Message, Sender};

use super::view::Status;

/// A new message.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The id of its transaction.
    pub id: Id,
    /// How it begins.
    pub begin: Begin,
    /// The reverse-path.
    pub sender: Sender,
    /// What MAIL asked to hear.
    pub dsn: Dsn,
    /// The user whom the log names.
    pub user: Option<String>,
    /// The forward-paths, at least one.
    pub recipients: Vec<Place>,
    /// The upstream that has to take all of it, if a rule said so.
    pub route: Option<String>,
    /// As it is to leave.
    pub message: Message,
    /// Its header as it came in, when the rules changed it.
    pub before: Option<Bytes>,
    /// What delivery wants to know of it later.
    pub details: String,
    /// When it was taken.
    pub received: Timestamp,
    /// Octets received.
    pub size: u64,
}

/// How a new message begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Due at that time.
    Queued(Timestamp),
    /// Leased until that time, by whoever puts it.
    Leased(Timestamp),
    /// Held, and why.
    Held(String),
}

/// One forward-path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: Address,
    /// The upstream that has to take it, if a rule said so.
    pub upstream: Option<String>,
    /// What its RCPT asked to hear.
    pub asked: Asked,
}

/// What a worker asks for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The time by which messages have to be due.
    pub now: Timestamp,
    /// When the leases end.
    pub until: Timestamp,
    /// How many messages at most.
    pub count: usize,
    /// Whether messages that may go anywhere are wanted.
    pub any: bool,
    /// The upstreams whose own messages are wanted.
    pub routes: Vec<String>,
    /// Only messages that are overdue, and these wherever they have to go.
    pub overdue: Option<Overdue>,
}

/// Messages whose sender has to hear of them, whether or not an upstream takes mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Those taken before that time are given up.
    pub expire: Timestamp,
    /// Of those taken before that time the sender has to have had notice; nobody gets one if there is no time.
    pub notice: Option<Timestamp>,
}

/// A message that a worker may try now.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The message.
    pub id: Id,
    /// The number of the lease; each is higher than the one before.
    pub number: u64,
    /// The reverse-path.
    pub sender: Sender,
    /// What MAIL asked to hear.
    pub dsn: Dsn,
    /// The recipients that are not settled, in the order of the envelope.
    pub pending: Vec<Pending>,
    /// The recipients that are settled as their sender wants to hear of, and were not reported.
    pub unreported: Vec<Fated>,
    /// How many rounds of attempts there were before.
    pub rounds: u32,
    /// Whether the sender has had notice of the delay.
    pub noticed: bool,
    /// When it was taken.
    pub received: Timestamp,
    /// Octets of the message.
    pub size: u64,
    /// The text of [`Entry::details`].
    pub details: String,
}

/// A recipient that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its number in the envelope.
    pub ordinal: u32,
    /// The address.
    pub address: Address,
    /// The upstream that has to take it, if a rule said so.
    pub upstream: Option<String>,
    /// What its RCPT asked to hear.
    pub asked: Asked,
}

/// A recipient that is settled as its sender has to hear of: it failed, or arrived and that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fated {
    /// Its number in the envelope.
    pub ordinal: u32,
    /// The address.
    pub address: Address,
    /// What its RCPT asked to hear.
    pub asked: Asked,
    /// What became of it.
    pub settled: Settled,
}

/// How a recipient was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What became of it.
    pub status: Status,
    /// The reply, as `554 5.6.0 text`.
    pub reply: String,
    /// The cause in the words of whoever decided.
    pub cause: String,
    /// The upstream.
    pub upstream: String,
    /// The upstream's id of the message.
    pub remote_id: Option<String>,
    /// When.
    pub time: Timestamp,
}

impl Settled {
    /// Whether a sender who asked that has to hear of it.
    pub fn is_news(&self, asked: &Asked) -> bool {
        self.status.is_failure() || self.status == Status::Delivered && asked.success()
    }

    /// By an operator's hand.
    pub(super) fn removed(time: Timestamp) -> Self {
        Self {
            status: Status::Removed,
            reply: String::new(),
            cause: "removed by an operator".to_owned(),
            upstream: String::new(),
            remote_id: None,
            time,
        }
    }
}

/// Recipients that an interrupted attempt may have been about: no upstream takes more in one call.
pub(super) const BATCH: usize = 50;
/// Why a message waits whose lease was lost.
pub(super) const INTERRUPTED: &str = "ambiguous: the program ended while an attempt may have been under way";

/// One attempt that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// The upstream that was asked.
    pub upstream: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// `delivered`, `deferred` or `failed`.
    pub outcome: String,
    /// Whether the upstream may have accepted it although we did not hear so.
    pub ambiguous: bool,
    /// The reply, as `454 4.3.2 text`.
    pub reply: String,
    /// The cause in the upstream's own words.
    pub cause: String,
    /// The upstream's id of the message.
    pub remote_id: Option<String>,
    /// The numbers of its recipients.
    pub recipients: Vec<u32>,
}

impl Try {
    /// The attempt that a lost lease may stand for.
    pub fn interrupted(time: Timestamp, recipients: Vec<u32>) -> Self {
        Self {
            upstream: String::new(),
            began: time,
            ended: time,
            outcome: "deferred".to_owned(),
            ambiguous: true,
            reply: "451 4.4.2 The attempt was interrupted".to_owned(),
            cause: INTERRUPTED.to_owned(),
            remote_id: None,
            recipients,
        }
    }
}

/// What a lease brought.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The message.
    pub id: Id,
    /// The number of the lease.
    pub lease: u64,
    /// Now.
    pub time: Timestamp,
    /// The attempts that were made.
    pub tries: Vec<Try>,
    /// Recipients that are settled now.
    pub settled: Vec<(u32, Settled)>,
    /// Recipients of whose fate one of `reports` tells, or that is nobody's to hear from us.
    pub reported: Vec<u32>,
    /// Whether one of `reports` gives notice of a delay.
    pub noticed: bool,
    /// Reports, put with the same commit.
    pub reports: Vec<Entry>,
    /// Identities that delivered.
    pub identities: Vec<String>,
    /// What becomes of the message.
    pub then: Then,
}

/// What becomes of a message behind a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The lease goes on until that time.
    Keep(Timestamp),
    /// The lease ends; the message is finished when no recipient is left, else queued again.
    Wait {
        /// When it is due.
        due: Timestamp,
        /// Why it waits.
        reason: String,
        /// Whether this was a round of attempts, which makes the next wait longer.
        counted: bool,
    },
}

/// What an operator wants done.
#[derive(Clone, Debug)]
pub enum Order {
    /// Due at that time, if it is queued; why it waits stays known.
    Retry(Timestamp),
    /// Due at that time, if it is held.
    Release(Timestamp),
    /// Held, and why.
    Hold(String),
    /// Finished at that time; what is not settled is removed.
    Delete(Timestamp),
    /// Message, header, sender and unsettled recipients as in an entry.
    Replace {
        /// What it becomes: of the same id, and queued or held as it says.
        entry: Box<Entry>,
        /// The [`super::Summary::lease`] by which its recipients were known. A later lease may have settled some of
        /// them, who would get the message once more.
        lease: u64,
    },
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// It is done.
    Done,
    /// There is no such message.
    Unknown,
    /// It is being delivered just now.
    Leased,
    /// It is finished.
    Finished,
    /// It is queued, and the order is for what is held.
    Queued,
    /// It is held, and the order is for what is queued.
    Held,
    /// Somebody has delivered meanwhile.
    Changed,
}
