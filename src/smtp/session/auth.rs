//! Logins (RFC 4954 section 4): the exchange with the client; whether a password is right is the server's to find out.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::mail::{Enhanced, Reply, Secret};

use super::{super::transaction::Event, Next, SEQUENCE, Session, Step};

/// Who may log in at a listener, and who must.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Logins {
    /// Nobody.
    #[default]
    None,
    /// Who wants to.
    Optional,
    /// Everybody who sends.
    Required,
}

/// A login to be checked.
#[derive(Clone, Debug)]
pub struct Login {
    /// The authentication identity.
    pub name: String,
    /// The password.
    pub password: Secret,
    /// Whether they want to act as somebody else (RFC 4616 section 2), which nobody may.
    pub as_another: bool,
}

/// What a login came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginEnd {
    /// The password is right.
    Right,
    /// The password is wrong, or there is no such user.
    Wrong,
    /// It was not looked at: too many were wrong.
    Blocked,
}

/// Where an exchange stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// The message of PLAIN comes next.
    Plain,
    /// The name of LOGIN comes next.
    Name,
    /// The password of LOGIN comes next.
    Password(String),
}

const MALFORMED: Enhanced = Enhanced(5, 5, 2);
const FAILED: Enhanced = Enhanced(5, 7, 8);

impl Session {
    /// Whether a login may be tried now: under TLS, or on loopback.
    pub(in crate::smtp) fn takes_logins(&self) -> bool {
        self.offer.logins != Logins::None && (self.client.tls.is_some() || self.client.address.is_loopback())
    }

    /// Answers AUTH.
    pub(super) fn auth(&mut self, mechanism: &str, initial: Option<&str>) -> Step {
        if self.offer.logins == Logins::None {
            return Step::reply(Reply::new(502, Enhanced(5, 5, 1), "No logins are taken here"));
        }
        if !self.takes_logins() {
            return Step::reply(Reply::new(
                538,
                Enhanced(5, 7, 11),
                "Say STARTTLS first: a password is not sent in the clear",
            ));
        }
        if !self.client.extended {
            return Step::reply(Reply::new(503, SEQUENCE, "Say EHLO first"));
        }
        if self.client.login.is_some() || self.in_transaction() {
            return Step::reply(Reply::new(503, SEQUENCE, "A login stands at the beginning of a session, and once"));
        }
        let first = match mechanism {
            "PLAIN" => Exchange::Plain,
            "LOGIN" => Exchange::Name,
            _ => return Step::reply(Reply::new(504, Enhanced(5, 5, 4), "The mechanisms are PLAIN and LOGIN")),
        };
        match initial {
            Some(text) => self.response(first, if text == "=" { b"" } else { text.as_bytes() }),
            None => self.challenge(first),
        }
    }

    fn challenge(&mut self, next: Exchange) -> Step {
        // "Username:" and "Password:", which is what clients of LOGIN wait for.
        let text = match next {
            Exchange::Plain => "",
            Exchange::Name => "VXNlcm5hbWU6",
            Exchange::Password(_) => "UGFzc3dvcmQ6",
        };
        self.exchange = Some(next);
        Step::reply(Reply::plain(334, [text]))
    }

    /// Answers a line of the exchange.
    pub(super) fn response(&mut self, exchange: Exchange, line: &[u8]) -> Step {
        if line == b"*" {
            return Step::reply(Reply::new(501, Enhanced(5, 7, 0), "The login is given up"));
        }
        let malformed = || Step::reply(Reply::new(501, MALFORMED, "That is no base64 of the mechanism"));
        let Some(text) = STANDARD.decode(line).ok().and_then(|octets| String::from_utf8(octets).ok()) else {
            return malformed();
        };
        let (name, password, as_another) = match exchange {
            Exchange::Name => return self.challenge(Exchange::Password(text)),
            Exchange::Password(name) => (name, text, false),
            Exchange::Plain => {
                let parts: Vec<&str> = text.split('\0').collect();
                let [identity, name, password] = parts.as_slice() else { return malformed() };
                let as_another = !identity.is_empty() && identity != name;
                ((*name).to_owned(), (*password).to_owned(), as_another)
            }
        };
        if name.is_empty() || password.contains('\0') {
            return malformed();
        }
        if name.chars().any(|one| one.is_control() || one.is_whitespace()) {
            return self.refused(name, false);
        }
        let login = Login { name, password: Secret::new(&password), as_another };
        Step { reply: None, event: None, next: Next::Login(Box::new(login)) }
    }

    /// Answers a login that was checked.
    pub fn login(&mut self, name: String, as_another: bool, end: LoginEnd) -> Step {
        match end {
            LoginEnd::Right if !as_another => {
                self.client.login = Some(name);
                Step::reply(Reply::new(235, Enhanced(2, 7, 0), "Logged in"))
            }
            LoginEnd::Right | LoginEnd::Wrong => {
                let step = self.refused(name, end == LoginEnd::Right);
                self.count(step)
            }
            LoginEnd::Blocked => {
                let reply =
                    Reply::new(454, Enhanced(4, 7, 0), "Too many wrong passwords from your address; try again later");
                let event = Event::LoginRefused(name, false, reply.clone());
                Step::reply(reply).with(Some(event))
            }
        }
    }

    fn refused(&mut self, name: String, known: bool) -> Step {
        let text = if known { "Nobody acts as another here" } else { "The name or the password is wrong" };
        let reply = Reply::new(535, FAILED, text);
        let event = Event::LoginRefused(name, known, reply.clone());
        Step::reply(reply).with(Some(event))
    }
}
