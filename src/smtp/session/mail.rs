//! A transaction within a session: MAIL and RCPT (RFC 5321 section 3.3).

use crate::mail::{Address, Asked, Enhanced, Envelope, Reply, Sender};

use super::{
    super::{
        command::{ForwardPath, Parameter},
        ext::{self, MailFacts},
        transaction::{Event, Open},
    },
    Logins, Next, SEQUENCE, Session, Step,
};

impl Session {
    /// Answers a MAIL with a size: whether there is room for the message now (RFC 1870 section 6.1).
    pub fn room(&mut self, envelope: Envelope, room: bool) -> Step {
        if room {
            return self.begin(envelope);
        }
        let event = Event::MailRefused(envelope.sender.to_string(), no_room());
        Step::reply(no_room()).with(Some(event))
    }

    /// The sender of the open transaction.
    pub fn sender(&self) -> Option<&Sender> {
        self.open.as_ref().map(|open| &open.envelope.sender)
    }

    /// Recipients of the open transaction.
    pub fn recipients(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.envelope.recipients.len())
    }

    /// Answers a RCPT that was asked about: with the refusal, if there is one.
    pub fn recipient(&mut self, address: Address, asked: Asked, refusal: Option<Reply>) -> Step {
        let Some(open) = &mut self.open else { return self.close(421, Enhanced(4, 3, 0), "Out of step") };
        match refusal {
            Some(reply) => {
                open.refusal = Some(reply.clone());
                Step::reply(reply)
            }
            None => {
                open.envelope.asked.add(&address, asked);
                open.envelope.recipients.push(address);
                open.accepted += 1;
                Step::reply(Reply::new(250, Enhanced(2, 1, 5), "Ok"))
            }
        }
    }

    /// Whether the client may relay without a login.
    fn may_relay(&self) -> bool {
        self.offer.allow.iter().any(|network| network.contains(&self.client.address))
    }

    pub(super) fn mail(&mut self, sender: Sender, parameters: &[Parameter]) -> Step {
        let refusal = if !self.greeted {
            Some(Reply::new(503, SEQUENCE, "Say EHLO or HELO first"))
        } else if self.open.is_some() {
            return Step::reply(Reply::new(503, SEQUENCE, "A transaction is open already; RSET ends it"));
        } else if self.offer.logins == Logins::Required && self.client.login.is_none() {
            Some(Reply::new(530, Enhanced(5, 7, 0), "Log in first"))
        } else if self.client.login.is_none() && !self.may_relay() {
            let text = format!("[{}] may not relay through listener {}", self.client.address, self.client.listener);
            Some(Reply::new(550, Enhanced(5, 7, 1), &text))
        } else {
            None
        };
        match refusal.map_or_else(|| ext::mail_facts(parameters, &self.offer), Err) {
            Ok(facts) => {
                let MailFacts { smtputf8, size, dsn } = facts;
                let envelope = Envelope { sender, smtputf8, dsn, ..Envelope::default() };
                match size {
                    Some(size) => Step { reply: None, event: None, next: Next::Room(size, Box::new(envelope)) },
                    None => self.begin(envelope),
                }
            }
            Err(reply) => {
                let event = Event::MailRefused(sender.to_string(), reply.clone());
                Step::reply(reply).with(Some(event))
            }
        }
    }

    fn begin(&mut self, envelope: Envelope) -> Step {
        self.open = Some(Open { id: (self.mint)(), envelope, accepted: 0, chunks: false, refusal: None });
        self.client.origin = self.forwarded.take();
        Step::reply(Reply::new(250, Enhanced(2, 1, 0), "Ok"))
    }

    pub(super) fn rcpt(&mut self, path: ForwardPath, parameters: &[Parameter]) -> Step {
        let limit = self.offer.recipients;
        let Some(open) = &mut self.open else { return Step::reply(Reply::new(503, SEQUENCE, "Say MAIL first")) };
        if open.chunks {
            return Step::reply(Reply::new(503, SEQUENCE, "The message has begun; BDAT with LAST ends it"));
        }
        let address = match path {
            ForwardPath::Mailbox(address) => Ok(address),
            ForwardPath::Postmaster => Address::from_parts("postmaster", &self.offer.hostname),
        };
        let checked = match (address, ext::rcpt_asked(parameters, &self.offer)) {
            (_, Err(reply)) => Err(reply),
            (Err(error), _) => Err(Reply::new(553, Enhanced(5, 1, 3), &format!("<postmaster>: {error}"))),
            (Ok(address), Ok(asked)) => Ok((address, asked)),
        };
        let reply = match checked {
            Err(reply) => reply,
            Ok((address, asked)) if open.envelope.recipients.contains(&address) => {
                open.envelope.asked.join(&address, &asked);
                open.accepted += 1;
                Reply::new(250, Enhanced(2, 1, 5), "Ok")
            }
            Ok(_) if open.envelope.recipients.len() >= limit => Reply::new(
                452,
                Enhanced(4, 5, 3),
                &format!("At most {limit} recipients a message; send the rest in another"),
            ),
            Ok((address, asked)) => {
                return Step { reply: None, event: None, next: Next::Recipient(Box::new(address), asked) };
            }
        };
        if !reply.is_positive() {
            open.refusal = Some(reply.clone());
        }
        Step::reply(reply)
    }
}

pub(super) fn no_room() -> Reply {
    Reply::new(452, Enhanced(4, 3, 1), "Too many large messages at once; try again")
}
