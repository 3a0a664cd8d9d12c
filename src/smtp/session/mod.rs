//! The session (RFC 5321 sections 3 and 4): commands in, steps out.

mod auth;
mod behind;
mod data;
mod greet;
mod mail;
mod step;
#[cfg(test)]
mod tests;
mod tls;

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;

use crate::mail::{Client, Enhanced, Id, Reply, Secret};

use super::{
    command::Command,
    transaction::{End, Event, Open},
};

pub use auth::{Login, LoginEnd, Logins};
pub(super) use behind::{XCLIENT, XFORWARD};
pub use step::{Next, Step};

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
    /// Whether TLS may be begun by STARTTLS.
    pub starttls: bool,
    /// Who may log in.
    pub logins: Logins,
    /// Whether LMTP (RFC 2033) is spoken.
    pub lmtp: bool,
    /// Whether senders may say what they want to hear of the delivery (RFC 3461).
    pub dsn: bool,
    /// Networks whose clients may relay without a login.
    pub allow: Vec<IpNet>,
    /// Peers that may say for whom they speak, by XCLIENT and XFORWARD.
    pub trusted: Vec<IpNet>,
}

impl Offer {
    /// Whether a peer may say for whom it speaks.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&peer))
    }
}

/// One conversation with a client.
#[derive(Debug)]
pub struct Session {
    pub(super) offer: Arc<Offer>,
    pub(super) client: Client,
    /// Whether the peer may say for whom it speaks.
    pub(super) trusted: bool,
    /// For whom it speaks in the next transaction.
    forwarded: Option<IpAddr>,
    mint: fn() -> Id,
    greeted: bool,
    open: Option<Open>,
    answers: usize,
    errors: u32,
    exchange: Option<auth::Exchange>,
}

impl Session {
    /// A session with a client that has just connected; `mint` makes the ids of its transactions.
    pub fn new(offer: Arc<Offer>, client: Client, mint: fn() -> Id) -> Self {
        let (trusted, forwarded) = (offer.trusts(client.address), None);
        let client = Client { lmtp: offer.lmtp, ..client };
        Self {
            offer,
            client,
            trusted,
            forwarded,
            mint,
            greeted: false,
            open: None,
            answers: 1,
            errors: 0,
            exchange: None,
        }
    }

    /// The client, with what it said so far.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether a MAIL was accepted and its transaction has not ended.
    pub fn in_transaction(&self) -> bool {
        self.open.is_some()
    }

    /// Errors so far.
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// Answers a command line.
    pub fn line(&mut self, line: &[u8]) -> Step {
        let step = match (self.exchange.take(), Command::parse(line)) {
            (Some(exchange), _) => self.response(exchange, line),
            (None, Ok(command)) => self.command(command),
            (None, Err(reply)) => self.unreadable(line, reply),
        };
        self.count(step)
    }

    /// Answers a line that was no command: too long, or ended by a lone LF.
    pub fn fault(&mut self, reply: Reply) -> Step {
        self.exchange = None;
        self.count(Step::reply(reply))
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
            Command::Ehlo(_) | Command::Helo(_) if self.offer.lmtp => {
                Step::reply(Reply::new(500, SEQUENCE, "LMTP is spoken here; say LHLO"))
            }
            Command::Lhlo(_) if !self.offer.lmtp => {
                Step::reply(Reply::new(500, SEQUENCE, "SMTP is spoken here; say EHLO"))
            }
            Command::Ehlo(name) | Command::Lhlo(name) => self.ehlo(name),
            Command::Helo(name) => {
                let event = self.greet(name, false);
                Step::reply(Reply::plain(250, [self.offer.hostname.clone()])).with(event)
            }
            Command::Mail(sender, parameters) => self.mail(sender, &parameters),
            Command::Rcpt(path, parameters) => self.rcpt(path, &parameters),
            Command::Auth(mechanism, initial) => self.auth(&mechanism, initial.as_ref().map(Secret::reveal)),
            Command::Data => self.begin_data(),
            Command::Bdat(size, last) => self.begin_chunk(size, last),
            Command::StartTls => self.start_tls(),
            Command::Xclient(attributes) => self.xclient(&attributes),
            Command::Xforward(attributes) => self.xforward(&attributes),
            Command::Rset => Step::reply(Reply::new(250, OK, "Ok")).with(self.abort()),
            Command::Noop => Step::reply(Reply::new(250, OK, "Ok")),
            Command::Vrfy => Step::reply(Reply::new(252, Enhanced(2, 5, 0), "Cannot verify; send the mail and see")),
            Command::Help => {
                Step::reply(Reply::new(214, OK, "EHLO HELO STARTTLS AUTH MAIL RCPT DATA BDAT RSET NOOP VRFY HELP QUIT"))
            }
            Command::Quit => {
                let reply = Reply::new(221, OK, "Bye");
                Step { reply: Some(reply), event: self.abort(), next: Next::Close }
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
        if verb == b"BDAT" {
            // What follows is a chunk of nobody knows what length, and must not be taken for commands.
            return Step { reply: Some(reply), event: self.abort(), next: Next::Close };
        }
        Step::reply(reply).with(event)
    }

    fn abort(&mut self) -> Option<Event> {
        self.open.take().map(|open| Event::Ended(open, End::Aborted))
    }

    /// A client that makes nothing but errors is sent away. Refused mail is no error: a list may have many dead addresses.
    fn count(&mut self, step: Step) -> Step {
        if step.reply.as_ref().is_some_and(Reply::is_error) {
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
