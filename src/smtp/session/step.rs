//! What a session asks of the server.

use crate::mail::{Address, Asked, Envelope, Reply};

use super::{
    super::transaction::{Event, Transaction},
    auth::Login,
};

/// What the server has to do: send the reply, log the event, go on as `next` says.
#[derive(Debug)]
pub struct Step {
    /// What the client hears; nothing before a [`Next::Submit`], whose reply is its outcome, and a [`Next::Answer`].
    pub reply: Option<Reply>,
    /// What the log has to know.
    pub event: Option<Event>,
    /// How it goes on.
    pub next: Next,
}

/// What the server reads next.
#[derive(Debug)]
pub enum Next {
    /// A command.
    Command,
    /// The data of a message.
    Data,
    /// So many octets of a message, and whether it ends with them.
    Chunk(u64, bool),
    /// So many octets that are of no use, then a command.
    Skip(u64),
    /// What comes within TLS: send the reply, do the handshake, call [`Session::secured`]. When octets have come behind the
    /// command, drop them and send what [`Session::pipelined`] answers instead.
    Handshake,
    /// Nothing: see whether a message of so many octets finds room, and call [`Session::room`] with the answer.
    Room(u64, Box<Envelope>),
    /// Nothing: ask the rules about this recipient of that sender, and call [`Session::recipient`] with it, what its RCPT
    /// asked, and what they say.
    Recipient(Box<Address>, Asked),
    /// Nothing: check this login, and call [`Session::login`] with what it came to.
    Login(Box<Login>),
    /// Nothing: send this as the answer to the data, [`Session::answers`] times, then read a command.
    Answer(Reply),
    /// Nothing: hand the transaction in and answer with what became of it, [`Session::answers`] times, then read a command.
    Submit(Box<Transaction>),
    /// Nothing more.
    Close,
}

impl Step {
    pub(super) fn reply(reply: Reply) -> Self {
        Self { reply: Some(reply), event: None, next: Next::Command }
    }

    pub(super) fn with(self, event: Option<Event>) -> Self {
        Self { event, ..self }
    }
}
