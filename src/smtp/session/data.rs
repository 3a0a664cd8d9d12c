//! The message within a session: DATA (RFC 5321 section 4.1.1.4), or chunks by BDAT (RFC 3030).

use bytes::Bytes;

use crate::mail::{Enhanced, Reply};

use super::{
    super::{
        codec::DataFault,
        transaction::{End, Event, Transaction},
    },
    Next, OK, SEQUENCE, Session, Step,
    mail::no_room,
};

impl Session {
    pub(super) fn begin_data(&mut self) -> Step {
        match &mut self.open {
            None => Step::reply(Reply::new(503, SEQUENCE, "Say MAIL and RCPT first")),
            Some(open) if open.envelope.recipients.is_empty() => {
                let reply = Reply::new(554, SEQUENCE, "No valid recipients");
                open.refusal.get_or_insert_with(|| reply.clone());
                Step::reply(reply)
            }
            Some(open) if open.chunks => {
                Step::reply(Reply::new(503, SEQUENCE, "The message has begun by BDAT; BDAT with LAST ends it"))
            }
            Some(_) => {
                let reply = Reply::plain(354, ["End the message with <CRLF>.<CRLF>"]);
                Step { reply: Some(reply), event: None, next: Next::Data }
            }
        }
    }

    /// Answers BDAT: the chunk is read, or skipped when there is no transaction for it (RFC 3030 section 2).
    pub(super) fn begin_chunk(&mut self, size: u64, last: bool) -> Step {
        let reply = match &mut self.open {
            None => Reply::new(503, SEQUENCE, "Say MAIL and RCPT first"),
            Some(open) if open.envelope.recipients.is_empty() => {
                let reply = Reply::new(554, SEQUENCE, "No valid recipients");
                open.refusal.get_or_insert_with(|| reply.clone());
                reply
            }
            Some(open) => {
                open.chunks = true;
                return Step { reply: None, event: None, next: Next::Chunk(size, last) };
            }
        };
        Step { reply: Some(reply), event: None, next: Next::Skip(size) }
    }

    /// Answers the end of a chunk that is not the last; `received` octets of the message have come. When the message is not
    /// kept, the transaction has ended.
    pub fn chunk(&mut self, chunk: Result<(), DataFault>, received: u64) -> Step {
        match chunk {
            Ok(()) => Step::reply(Reply::new(250, OK, "Go on")),
            Err(fault) => {
                let Some(open) = self.open.take() else { return self.close(421, Enhanced(4, 3, 0), "Out of step") };
                let reply = self.unkept(fault);
                let event = Event::Ended(open, End::Refused(reply.clone(), received));
                Step::reply(reply).with(Some(event))
            }
        }
    }

    /// How often the client hears what became of the data: in LMTP once for each RCPT that was accepted (RFC 2033 section
    /// 4.2), else once.
    pub fn answers(&self) -> usize {
        self.answers
    }

    /// Answers the end of the data.
    pub fn data(&mut self, data: Result<Bytes, DataFault>, received: u64) -> Step {
        let Some(open) = self.open.take() else { return self.close(421, Enhanced(4, 3, 0), "Out of step") };
        self.answers = if self.offer.lmtp { open.accepted } else { 1 };
        let fault = match data {
            Ok(raw) => {
                let transaction =
                    Transaction { id: open.id, client: self.client.clone(), envelope: open.envelope, raw };
                return Step { reply: None, event: None, next: Next::Submit(Box::new(transaction)) };
            }
            Err(fault) => fault,
        };
        let reply = self.unkept(fault);
        let event = Event::Ended(open, End::Refused(reply.clone(), received));
        Step { reply: None, event: Some(event), next: Next::Answer(reply) }
    }

    fn unkept(&self, fault: DataFault) -> Reply {
        match fault {
            DataFault::TooLarge => {
                let text = format!("A message has at most {} octets here", self.offer.message_size);
                Reply::new(552, Enhanced(5, 3, 4), &text)
            }
            DataFault::NoMemory => no_room(),
        }
    }
}
