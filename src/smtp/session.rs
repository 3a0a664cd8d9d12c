//! The session (RFC 5321 sections 3 and 4): commands in, steps out.

use std::sync::Arc;

use bytes::Bytes;

use crate::mail::{Address, Client, Enhanced, Envelope, Id, Reply, Sender};

use super::{
    codec::DataFault,
    command::{Command, ForwardPath, Parameter},
    ext::{self, EXTENSIONS},
    transaction::{End, Event, Open, Transaction},
};

const OK: Enhanced = Enhanced(2, 0, 0);
const SEQUENCE: Enhanced = Enhanced(5, 5, 1);

/// What this server offers to every client of a listener.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Our own name.
    pub hostname: String,
    /// Octets of a message at most.
    pub message_size: u64,
    /// Recipients of a transaction at most.
    pub recipients: usize,
    /// Errors after which a session is closed.
    pub errors: u32,
}

/// One conversation with a client.
#[derive(Debug)]
pub struct Session {
    offer: Arc<Offer>,
    client: Client,
    may_relay: bool,
    mint: fn() -> Id,
    greeted: bool,
    open: Option<Open>,
    errors: u32,
}

/// What the server has to do: send the reply, log the event, go on as `next` says.
#[derive(Debug)]
pub struct Step {
    /// What the client hears; nothing before a [`Next::Submit`], whose reply is its outcome.
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
    /// Nothing: see whether a message of so many octets finds room, and call [`Session::room`] with the answer.
    Room(u64, Box<Envelope>),
    /// Nothing: ask the rules about this recipient of that sender, and call [`Session::recipient`] with what they say.
    Recipient(Box<Address>),
    /// Nothing: hand the transaction in and answer with what became of it, then read a command.
    Submit(Box<Transaction>),
    /// Nothing more.
    Close,
}

impl Step {
    fn reply(reply: Reply) -> Self {
        Self { reply: Some(reply), event: None, next: Next::Command }
    }

    fn with(self, event: Option<Event>) -> Self {
        Self { event, ..self }
    }
}

impl Session {
    /// A session with a client that has just connected; `mint` makes the ids of its transactions.
    pub fn new(offer: Arc<Offer>, client: Client, may_relay: bool, mint: fn() -> Id) -> Self {
        Self { offer, client, may_relay, mint, greeted: false, open: None, errors: 0 }
    }

    /// The client, with what it said so far.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether a MAIL was accepted and its transaction has not ended.
    pub fn in_transaction(&self) -> bool {
        self.open.is_some()
    }

    /// What the server says first.
    pub fn greeting(&self) -> Reply {
        Reply::plain(220, [format!("{} ESMTP Headgate", self.offer.hostname)])
    }

    /// Answers a command line.
    pub fn line(&mut self, line: &[u8]) -> Step {
        let step = match Command::parse(line) {
            Ok(command) => self.command(command),
            Err(reply) => self.unreadable(line, reply),
        };
        self.count(step)
    }

    /// Answers a line that was no command: too long, or ended by a lone LF.
    pub fn fault(&mut self, reply: Reply) -> Step {
        self.count(Step::reply(reply))
    }

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

    /// Answers a RCPT that was asked about: with the refusal, if there is one.
    pub fn recipient(&mut self, address: Address, refusal: Option<Reply>) -> Step {
        let Some(open) = &mut self.open else { return self.close(421, Enhanced(4, 3, 0), "Out of step") };
        match refusal {
            Some(reply) => {
                open.refusal = Some(reply.clone());
                Step::reply(reply)
            }
            None => {
                open.envelope.recipients.push(address);
                Step::reply(Reply::new(250, Enhanced(2, 1, 5), "Ok"))
            }
        }
    }

    /// Answers the end of the data.
    pub fn data(&mut self, data: Result<Bytes, DataFault>, received: u64) -> Step {
        let Some(open) = self.open.take() else { return self.close(421, Enhanced(4, 3, 0), "Out of step") };
        let fault = match data {
            Ok(raw) => {
                let transaction =
                    Transaction { id: open.id, client: self.client.clone(), envelope: open.envelope, raw };
                return Step { reply: None, event: None, next: Next::Submit(Box::new(transaction)) };
            }
            Err(fault) => fault,
        };
        let reply = match fault {
            DataFault::TooLarge => {
                let text = format!("A message has at most {} octets here", self.offer.message_size);
                Reply::new(552, Enhanced(5, 3, 4), &text)
            }
            DataFault::NoMemory => no_room(),
        };
        let event = Event::Ended(open, End::Refused(reply.clone(), received));
        Step::reply(reply).with(Some(event))
    }

    /// Ends the session from our side: a time-out, a shut-down.
    pub fn close(&mut self, code: u16, enhanced: Enhanced, text: &str) -> Step {
        let reply = Reply::new(code, enhanced, &format!("{} {text}", self.offer.hostname));
        Step { reply: Some(reply), event: self.abort(), next: Next::Close }
    }

    /// The client is gone.
    pub fn lost(&mut self) -> Option<Event> {
        self.abort()
    }

    fn command(&mut self, command: Command) -> Step {
        match command {
            Command::Ehlo(name) => self.ehlo(name),
            Command::Helo(name) => {
                let event = self.greet(name, false);
                Step::reply(Reply::plain(250, [self.offer.hostname.clone()])).with(event)
            }
            Command::Mail(sender, parameters) => self.mail(sender, &parameters),
            Command::Rcpt(path, parameters) => self.rcpt(path, &parameters),
            Command::Data => self.begin_data(),
            Command::Rset => Step::reply(Reply::new(250, OK, "Ok")).with(self.abort()),
            Command::Noop => Step::reply(Reply::new(250, OK, "Ok")),
            Command::Vrfy => Step::reply(Reply::new(252, Enhanced(2, 5, 0), "Cannot verify; send the mail and see")),
            Command::Help => Step::reply(Reply::new(214, OK, "EHLO HELO MAIL RCPT DATA RSET NOOP VRFY HELP QUIT")),
            Command::Quit => {
                let reply = Reply::new(221, OK, "Bye");
                Step { reply: Some(reply), event: self.abort(), next: Next::Close }
            }
        }
    }

    fn ehlo(&mut self, name: String) -> Step {
        let event = self.greet(name, true);
        let offers = EXTENSIONS.iter().filter_map(|one| {
            let arguments = (one.offered)(&self.offer)?;
            Some(format!("{} {arguments}", one.keyword).trim_end().to_owned())
        });
        let lines = std::iter::once(self.offer.hostname.clone()).chain(offers);
        Step::reply(Reply::plain(250, lines)).with(event)
    }

    fn greet(&mut self, name: String, extended: bool) -> Option<Event> {
        (self.client.helo, self.client.extended, self.greeted) = (name, extended, true);
        self.abort()
    }

    fn mail(&mut self, sender: Sender, parameters: &[Parameter]) -> Step {
        let refusal = if !self.greeted {
            Some(Reply::new(503, SEQUENCE, "Say EHLO or HELO first"))
        } else if self.open.is_some() {
            return Step::reply(Reply::new(503, SEQUENCE, "A transaction is open already; RSET ends it"));
        } else if !self.may_relay {
            let text = format!("[{}] may not relay through listener {}", self.client.address, self.client.listener);
            Some(Reply::new(550, Enhanced(5, 7, 1), &text))
        } else {
            None
        };
        match refusal.map_or_else(|| ext::mail_facts(parameters, &self.offer), Err) {
            Ok(facts) => {
                let envelope = Envelope { sender, recipients: Vec::new(), smtputf8: facts.smtputf8 };
                match facts.size {
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
        self.open = Some(Open { id: (self.mint)(), envelope, refusal: None });
        Step::reply(Reply::new(250, Enhanced(2, 1, 0), "Ok"))
    }

    fn rcpt(&mut self, path: ForwardPath, parameters: &[Parameter]) -> Step {
        let limit = self.offer.recipients;
        let Some(open) = &mut self.open else { return Step::reply(Reply::new(503, SEQUENCE, "Say MAIL first")) };
        let address = match path {
            ForwardPath::Mailbox(address) => Ok(address),
            ForwardPath::Postmaster => Address::from_parts("postmaster", &self.offer.hostname),
        };
        let checked = match (address, ext::rcpt_parameters(parameters)) {
            (_, Err(reply)) => Err(reply),
            (Err(error), _) => Err(Reply::new(553, Enhanced(5, 1, 3), &format!("<postmaster>: {error}"))),
            (Ok(address), Ok(())) => Ok(address),
        };
        let reply = match checked {
            Err(reply) => reply,
            Ok(address) if open.envelope.recipients.contains(&address) => Reply::new(250, Enhanced(2, 1, 5), "Ok"),
            Ok(_) if open.envelope.recipients.len() >= limit => Reply::new(
                452,
                Enhanced(4, 5, 3),
                &format!("At most {limit} recipients a message; send the rest in another"),
            ),
            Ok(address) => return Step { reply: None, event: None, next: Next::Recipient(Box::new(address)) },
        };
        if !reply.is_positive() {
            open.refusal = Some(reply.clone());
        }
        Step::reply(reply)
    }

    fn begin_data(&mut self) -> Step {
        match &mut self.open {
            None => Step::reply(Reply::new(503, SEQUENCE, "Say MAIL and RCPT first")),
            Some(open) if open.envelope.recipients.is_empty() => {
                let reply = Reply::new(554, SEQUENCE, "No valid recipients");
                open.refusal.get_or_insert_with(|| reply.clone());
                Step::reply(reply)
            }
            Some(_) => {
                let reply = Reply::plain(354, ["End the message with <CRLF>.<CRLF>"]);
                Step { reply: Some(reply), event: None, next: Next::Data }
            }
        }
    }

    fn unreadable(&mut self, line: &[u8], reply: Reply) -> Step {
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        if verb == b"RCPT"
            && let Some(open) = &mut self.open
        {
            open.refusal = Some(reply.clone());
        }
        let written = String::from_utf8_lossy(line.get(4..).unwrap_or_default());
        let path =
            written.split_once('<').map_or(written.trim(), |(_, path)| path.split('>').next().unwrap_or_default());
        let path = path.chars().take(256).collect();
        let event = (verb == b"MAIL" && self.open.is_none()).then(|| Event::MailRefused(path, reply.clone()));
        Step::reply(reply).with(event)
    }

    fn abort(&mut self) -> Option<Event> {
        self.open.take().map(|open| Event::Ended(open, End::Aborted))
    }

    /// A client that makes nothing but errors is sent away. Refused mail is no error: a list may have many dead addresses.
    fn count(&mut self, step: Step) -> Step {
        if step.reply.as_ref().is_some_and(|reply| matches!(reply.code(), 500..=504 | 555)) {
            self.errors += 1;
        }
        if self.errors <= self.offer.errors {
            return step;
        }
        let aborted = self.abort();
        let last = self.close(421, Enhanced(4, 7, 0), "Too many errors");
        Step { event: step.event.or(aborted), ..last }
    }
}

fn no_room() -> Reply {
    Reply::new(452, Enhanced(4, 3, 1), "Too many large messages at once; try again")
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
