//! The store: what is durable of each message, from the 250 to the end of its history.
//!
//! Entries, leases and settlements go in; leases and views come out. It knows no rule, no upstream and no clock: times
//! are given. What delivery wants to remember of a message, it gives as text (`details`), which the store keeps and does
//! not read.
//!
//! # The states of a message
//!
//! *Not there.* No row. There may be a file of its body, whole or in part: a body over 256 KiB is written, synced,
//! renamed and its folder synced before the row is written. A crash here leaves the file; the client has heard nothing
//! and sends again; the next start removes files that no row names.
//!
//! *Queued.* A row with a due time, a row a recipient, the header as it came and as it leaves, and the body in a row or
//! in a file. The client has heard 250, or is about to. A crash changes nothing. Some recipients may be settled already,
//! when an attempt for others was put off.
//!
//! *Leased.* The same rows; the row of the message holds the number of the lease and the time at which it ends. It was
//! committed before the first octet of a request was written, so a leased message may have reached its upstream without
//! our knowing. Each batch is settled, durably, before the next goes out, so that what is in doubt is one batch. A crash
//! here leaves the lease; the next start (or, when several processes share a store, the end of the lease) makes the
//! message queued again and records an ambiguous attempt for the batch. Whoever still holds the old lease can settle
//! nothing: the number has moved on.
//!
//! *Held.* As queued, without a due time: a rule or an operator holds it until somebody releases it.
//!
//! *Finished.* Every recipient is settled and every failure is reported or cannot be. The body's row is gone with the
//! same commit that settled the last recipient; the body's file goes right after, and when a crash comes between, the
//! next start removes it. Rows and header stay `history` long, then [`Store::sweep`] removes them.
//!
//! A report, of failures or of success where that was asked, is a message of its own, put by the same commit that marks
//! what it tells of as reported; so a crash leaves either both or none, and the next round reports what is not marked.

mod entry;
mod error;
mod memory;
mod sqlite;
mod view;

#[cfg(test)]
mod contract;

pub use entry::{
    Ask, Begin, Entry, Fated, Lease, Order, Ordered, Overdue, Pending, Place, Settled, Settlement, Then, Try,
};
use entry::{BATCH, INTERRUPTED};
pub use error::StoreError;
pub use memory::Memory;
pub use sqlite::{Probe, Sqlite, probe};
pub use view::{Account, Counts, Filter, RecipientView, State, Status, Summary, TryView};

use jiff::Timestamp;

use crate::mail::{Id, Message, Period, Size, Soon};

/// What keeps messages.
///
/// Each call that changes something has committed it durably when it returns `Ok`, and has changed nothing when it
/// returns an error. A call may be repeated after an error; `put` and `settle` refuse what was done already.
pub trait Store: Send + Sync {
    /// Keeps a new message. One that begins [`Begin::Leased`] has lease 1.
    fn put(&self, entry: Entry) -> Soon<'_, Result<(), StoreError>>;

    /// Leases messages that are due, the longest due first, and no more than asked for. What is overdue comes in no order.
    fn lease(&self, ask: Ask) -> Soon<'_, Result<Vec<Lease>, StoreError>>;

    /// The message of an unfinished entry.
    fn message(&self, id: Id) -> Soon<'_, Result<Option<Message>, StoreError>>;

    /// Commits what a lease brought: fates, attempts and perhaps reports, all or nothing.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when the lease is not the message's present one.
    fn settle(&self, settlement: Settlement) -> Soon<'_, Result<(), StoreError>>;

    /// Makes messages queued again whose lease ended before that time, each with an ambiguous attempt; how many.
    fn recover(&self, ended: Timestamp, now: Timestamp) -> Soon<'_, Result<usize, StoreError>>;

    /// When the next queued message is due.
    fn next_due(&self) -> Soon<'_, Result<Option<Timestamp>, StoreError>>;

    /// Does what an operator wants done to a message that is not finished.
    fn order(&self, id: Id, order: Order) -> Soon<'_, Result<Ordered, StoreError>>;

    /// Messages, the newest first.
    fn list(&self, filter: Filter) -> Soon<'_, Result<Vec<Summary>, StoreError>>;

    /// All that is known of a message.
    fn show(&self, id: Id) -> Soon<'_, Result<Option<Account>, StoreError>>;

    /// How many messages there are in each state that is not finished.
    fn counts(&self) -> Soon<'_, Result<Counts, StoreError>>;

    /// When an identity last delivered, as [`Settlement::identities`] told.
    fn identity(&self, name: &str) -> Soon<'_, Result<Option<Timestamp>, StoreError>>;

    /// Removes what was finished before that time, some of it in each call; how many messages went.
    fn sweep(&self, before: Timestamp) -> Soon<'_, Result<usize, StoreError>>;
}

/// `[store]`: where the queue is kept.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:FILE`. Large bodies stand beside it, in FILE.bodies.
    pub url: String,
    /// What the queue and its history may take of the disk; beyond it, mail is put off with 452 4.3.1.
    pub size: Size,
    /// How long a finished message stays visible; its body goes at once.
    pub history: Period,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: "sqlite:headgate.db".to_owned(),
            size: Size(10_000_000_000),
            history: Period::seconds(30 * 24 * 3600),
        }
    }
}

impl Settings {
    /// The file of an embedded store.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.url.strip_prefix("sqlite:").filter(|path| !path.is_empty()).map(std::path::Path::new)
    }
}
