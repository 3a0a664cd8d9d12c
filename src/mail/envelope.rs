//! The envelope: MAIL and RCPT (RFC 5321 section 2.3.1).

use std::fmt;

use super::{Address, Asks, Dsn};

/// The reverse-path of MAIL: an address, or the null path `<>` of a bounce.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sender(pub Option<Address>);

impl Sender {
    /// Whether it is the null path.
    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Sender {
    /// The address without angle brackets; nothing for the null path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |address| address.fmt(f))
    }
}

/// Sender and recipients of one transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Envelope {
    /// The reverse-path.
    pub sender: Sender,
    /// The forward-paths, in the order of RCPT.
    pub recipients: Vec<Address>,
    /// Whether MAIL carried SMTPUTF8 (RFC 6531).
    pub smtputf8: bool,
    /// What MAIL asked to hear (RFC 3461).
    pub dsn: Dsn,
    /// What each RCPT asked to hear.
    pub asked: Asks,
}
