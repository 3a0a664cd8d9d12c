//! A mail transaction, from an accepted MAIL to its end (RFC 5321 section 3.3).

use bytes::Bytes;

use crate::mail::{Client, Envelope, Id, Reply};

/// A transaction that is not ended yet.
#[derive(Clone, Debug)]
pub struct Open {
    /// Minted at MAIL.
    pub id: Id,
    /// MAIL and the accepted RCPTs.
    pub envelope: Envelope,
    /// RCPTs that were accepted, those that name a recipient again among them.
    pub accepted: usize,
    /// Whether a chunk of the message has come.
    pub chunks: bool,
    /// The last RCPT or DATA that was refused.
    pub refusal: Option<Reply>,
}

/// A complete transaction: all that the house gets to know of it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Minted at MAIL.
    pub id: Id,
    /// Who sent it.
    pub client: Client,
    /// From whom and to whom.
    pub envelope: Envelope,
    /// The message, without dot-stuffing, else as it came in.
    pub raw: Bytes,
}

/// Something that the log has to know.
#[derive(Clone, Debug)]
pub enum Event {
    /// A transaction ended without a message that could be handed on.
    Ended(Open, End),
    /// MAIL was refused: the reverse-path as the client wrote it, and the reply.
    MailRefused(String, Reply),
    /// A login was refused: the name, whether it is known to be theirs, and the reply.
    LoginRefused(String, bool, Reply),
}

/// How such a transaction ended.
#[derive(Clone, Debug)]
pub enum End {
    /// RSET, EHLO, QUIT, a time-out or loss.
    Aborted,
    /// The data was refused as it came: the reply, and the octets received.
    Refused(Reply, u64),
}
