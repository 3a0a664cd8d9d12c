//! What the rules may know of a transaction and cannot change.

use crate::mail::{Client, Id};

/// The facts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The id of the transaction.
    pub id: Id,
    /// Who sent it.
    pub client: Client,
    /// Octets received.
    pub size: usize,
    /// Our own name.
    pub hostname: String,
}
