//! The editable message that the rules work on.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    header::{self, Header},
    mail::{Envelope, Message, Options},
};

use super::trace::Trace;

/// A message with its envelope while the rules work on it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// From whom and to whom.
    pub envelope: Envelope,
    /// The header.
    pub header: Header,
    /// The empty line and the body.
    pub rest: Bytes,
    /// What is asked of the upstream.
    pub options: Options,
    /// The rule that holds it back, if one does.
    pub held: Option<Arc<str>>,
    /// What was done.
    pub trace: Trace,
}

impl Draft {
    /// A draft of a message as it came in.
    pub fn new(envelope: Envelope, raw: &Bytes) -> Self {
        Self::of(envelope, header::split(raw))
    }

    /// A draft of a message that was cut into header and body already.
    pub fn of(envelope: Envelope, message: Message) -> Self {
        let header = Header::parse(&message.head);
        Self { envelope, header, rest: message.rest, options: Options::default(), held: None, trace: Trace::default() }
    }

    /// The message as it is now.
    pub fn message(&self) -> Message {
        Message { head: self.header.finish(), rest: self.rest.clone() }
    }
}
