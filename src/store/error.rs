//! Why the store does not do what it is asked.

use crate::mail::{Enhanced, Reply};

/// Why the store does not do what it is asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// No room: the disk, or the `size` of the settings.
    #[error("the store is full: {0}")]
    Full(String),
    /// It cannot be read or written now.
    #[error("the store cannot be used: {0}")]
    Unavailable(String),
    /// The lease is not the message's present one.
    #[error("the lease is not the present one")]
    Stale,
    /// A message of that id is there already.
    #[error("a message of that id is there already")]
    Duplicate,
    /// Another process has it.
    #[error("{0} is in use by another process")]
    Locked(String),
    /// A newer version wrote it.
    #[error("{path} has version {found} of the layout; this program knows versions up to {known}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// What it holds cannot be read.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// What a client hears whose message cannot be kept.
    pub fn reply(&self) -> Reply {
        let text = match self {
            Self::Full(_) => "The queue is full; try again",
            _ => "The queue cannot be written; try again",
        };
        Reply::new(452, Enhanced(4, 3, 1), text)
    }
}
