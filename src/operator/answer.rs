//! What an operator hears: one line of JSON each, [`Answer::End`] the last.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    delivery::{Condition, Details},
    mail::{Address, Asked, Asks, Client, Dsn, Id},
    rules::Change,
    store::{self, RecipientView, State, Status, StoreError, Summary, TryView},
};

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A message of a list.
    Message(Row),
    /// All that is known of a message.
    Account(Box<Account>),
    /// What became of an order about a message.
    Deed(Deed),
    /// A message follows, in as many [`Answer::Octets`] as it takes.
    Letter(Sheet),
    /// The next octets of it, in base64.
    Octets(String),
    /// An upstream.
    Upstream(Condition),
    /// The last line; what went wrong, if anything did.
    End(Option<Fault>),
}

/// One message in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The message.
    pub id: Id,
    /// Its state.
    pub state: State,
    /// When it is due, when its lease ends, or when it was finished.
    pub when: Option<Timestamp>,
    /// When it was taken.
    pub received: Timestamp,
    /// Octets received.
    pub size: u64,
    /// The reverse-path; nothing for the null path.
    pub sender: Option<Address>,
    /// The user whom the log names.
    pub user: Option<String>,
    /// The first recipient.
    pub first: Option<Address>,
    /// How many recipients there are.
    pub recipients: u32,
    /// How many of them are not settled.
    pub pending: u32,
    /// Rounds of attempts.
    pub rounds: u32,
    /// Why it waits or is held.
    pub reason: String,
}

impl From<Summary> for Row {
    fn from(one: Summary) -> Self {
        Self {
            id: one.id,
            state: one.state,
            when: one.when,
            received: one.received,
            size: one.size,
            sender: one.sender.0,
            user: one.user,
            first: one.first,
            recipients: one.recipients.0,
            pending: one.recipients.1,
            rounds: one.rounds,
            reason: one.reason,
        }
    }
}

/// All that is known of a message. What is no UTF-8 in its header is shown as U+FFFD; export gives the octets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// As in a list.
    pub message: Row,
    /// Who sent it.
    pub client: Client,
    /// The message that this one reports about.
    pub about: Option<String>,
    /// What the client asked to hear (RFC 3461).
    #[serde(default, skip_serializing_if = "Dsn::is_empty")]
    pub dsn: Dsn,
    /// Its recipients.
    pub recipients: Vec<Recipient>,
    /// The attempts.
    pub attempts: Vec<Attempt>,
    /// What the rules changed.
    pub changes: Vec<Change>,
    /// How many changes there were; not all of many are kept.
    pub changes_count: usize,
    /// The header as it came in, when the rules changed it.
    pub header_before: Option<String>,
    /// The header as it leaves.
    pub header: String,
}

impl From<store::Account> for Account {
    fn from(account: store::Account) -> Self {
        let details = Details::read(&account.details);
        let text = |head: &Bytes| String::from_utf8_lossy(head).into_owned();
        Self {
            message: account.summary.into(),
            client: details.client,
            about: details.about,
            dsn: account.dsn,
            recipients: account.recipients.into_iter().map(Into::into).collect(),
            attempts: account.tries.into_iter().map(Into::into).collect(),
            changes: details.changes,
            changes_count: details.rules,
            header_before: account.before.as_ref().map(text),
            header: text(&account.after),
        }
    }
}

/// One recipient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipient {
    /// Its number, which attempts name.
    pub number: u32,
    /// The address.
    pub address: Address,
    /// What the client asked to hear of it.
    #[serde(default, skip_serializing_if = "Asked::is_empty")]
    pub asked: Asked,
    /// What became of it.
    pub status: Status,
    /// When that was.
    pub time: Option<Timestamp>,
    /// The reply, as `554 5.6.0 text`; empty while it is pending.
    pub reply: String,
    /// The cause in the words of whoever decided.
    pub cause: String,
    /// The upstream that decided or, while it is pending, the one that a rule sends it to.
    pub upstream: Option<String>,
    /// The upstream's id of the message.
    pub remote_id: Option<String>,
    /// Whether a report told its sender.
    pub reported: bool,
}

impl From<RecipientView> for Recipient {
    fn from(one: RecipientView) -> Self {
        let pending = Self {
            number: one.ordinal,
            address: one.address,
            asked: one.asked,
            status: Status::Pending,
            time: None,
            reply: String::new(),
            cause: String::new(),
            upstream: one.upstream,
            remote_id: None,
            reported: one.reported,
        };
        match one.settled {
            None => pending,
            Some(settled) => Self {
                status: settled.status,
                time: Some(settled.time),
                reply: settled.reply,
                cause: settled.cause,
                upstream: Some(settled.upstream).filter(|name| !name.is_empty()),
                remote_id: settled.remote_id,
                ..pending
            },
        }
    }
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number.
    pub number: u32,
    /// The upstream that was asked; empty when nobody knows.
    pub upstream: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// `delivered`, `deferred` or `failed`.
    pub outcome: String,
    /// Whether the upstream may have accepted it although nobody heard so.
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

impl From<TryView> for Attempt {
    fn from((number, one): TryView) -> Self {
        Self {
            number,
            upstream: one.upstream,
            began: one.began,
            ended: one.ended,
            outcome: one.outcome,
            ambiguous: one.ambiguous,
            reply: one.reply,
            cause: one.cause,
            remote_id: one.remote_id,
            recipients: one.recipients,
        }
    }
}

/// What became of an order about one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deed {
    /// The message.
    pub id: Id,
    /// Whether it is done, or why not.
    pub result: Done,
    /// The same in words.
    pub text: String,
}

/// Whether an order is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Done {
    /// It is.
    Done,
    /// There is no such message.
    Unknown,
    /// It is being delivered just now; later it may be done.
    Active,
    /// The order is not for the state it is in.
    Unfit,
    /// The rules or the lint refuse it.
    Refused,
}

/// The envelope of an exported message, which stands beside it and with which it can be imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// The message.
    pub id: Id,
    /// The reverse-path; nothing for the null path.
    pub sender: Option<Address>,
    /// The recipients that have not got it.
    pub recipients: Vec<Address>,
    /// What the client asked to hear (RFC 3461).
    #[serde(default, skip_serializing_if = "Dsn::is_empty")]
    pub dsn: Dsn,
    /// The same of each recipient that it asked anything of.
    #[serde(default, skip_serializing_if = "Asks::is_empty")]
    pub asked: Asks,
    /// The user whom the log names.
    pub user: Option<String>,
    /// When it was taken.
    pub received: Timestamp,
    /// Octets of the message as it leaves.
    pub octets: u64,
}

/// Why a request is not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    /// Of what kind.
    pub kind: FaultKind,
    /// What it is, for people.
    pub text: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// The request cannot be understood.
    Usage,
    /// The rules or the lint refuse the message.
    Refused,
    /// There is no store.
    Missing,
    /// It cannot be done here.
    Unavailable,
    /// It may be done later.
    Later,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let kind = match error {
            StoreError::Full(_) | StoreError::Unavailable(_) | StoreError::Locked(_) => FaultKind::Later,
            _ => FaultKind::Unavailable,
        };
        Self::new(kind, error.to_string())
    }
}
