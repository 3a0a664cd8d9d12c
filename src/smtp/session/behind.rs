//! For whom a trusted peer speaks: XCLIENT (<https://www.postfix.org/XCLIENT_README.html>) makes that client the session's,
//! XFORWARD (<https://www.postfix.org/XFORWARD_README.html>) names it for the log, for one transaction.

use std::net::{IpAddr, Ipv4Addr};

use crate::mail::{Enhanced, Reply};

use super::{
    super::{command::Parameter, xtext},
    OK, SEQUENCE, Session, Step,
};

/// What XCLIENT may tell; what is not used is read and forgotten.
pub(in crate::smtp) const XCLIENT: &[&str] =
    &["NAME", "ADDR", "PORT", "PROTO", "HELO", "LOGIN", "DESTADDR", "DESTPORT"];
/// What XFORWARD may tell.
pub(in crate::smtp) const XFORWARD: &[&str] = &["NAME", "ADDR", "PORT", "PROTO", "HELO", "IDENT", "SOURCE"];

/// A client whose address is not known: of no network that may relay.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Octets of a login.
const LOGIN: usize = 255;

impl Session {
    /// Answers XCLIENT: the session begins anew, with the client that is named.
    pub(super) fn xclient(&mut self, attributes: &[Parameter]) -> Step {
        match self.told("XCLIENT", XCLIENT, attributes) {
            Err(reply) => Step::reply(reply),
            Ok(told) => {
                for (keyword, value) in told {
                    match keyword {
                        Told::Address => self.client.address = value.and_then(|text| address(&text)).unwrap_or(UNKNOWN),
                        Told::Login => self.client.login = value,
                        Told::Other => {}
                    }
                }
                (self.client.helo, self.client.extended, self.greeted) = (String::new(), false, false);
                self.forwarded = None;
                Step::reply(self.greeting())
            }
        }
    }

    /// Answers XFORWARD: the next transaction's line in the log shows the address that is named.
    pub(super) fn xforward(&mut self, attributes: &[Parameter]) -> Step {
        match self.told("XFORWARD", XFORWARD, attributes) {
            Err(reply) => Step::reply(reply),
            Ok(told) => {
                for (keyword, value) in told {
                    if let Told::Address = keyword {
                        self.forwarded = value.and_then(|text| address(&text));
                    }
                }
                Step::reply(Reply::new(250, OK, "Ok"))
            }
        }
    }

    /// The attributes that matter, decoded; nothing for one that the peer does not know itself.
    fn told(&self, verb: &str, known: &[&str], attributes: &[Parameter]) -> Result<Vec<(Told, Option<String>)>, Reply> {
        let wrong = |text: &str| Reply::new(501, Enhanced(5, 5, 4), text);
        if !self.trusted {
            let text = format!("[{}] is not in xclient of listener {}", self.client.address, self.client.listener);
            return Err(Reply::new(550, Enhanced(5, 7, 1), &text));
        }
        if self.in_transaction() {
            return Err(Reply::new(503, SEQUENCE, &format!("{verb} stands before MAIL")));
        }
        if attributes.is_empty() {
            return Err(wrong(&format!("{verb} takes {}", known.join(", "))));
        }
        let read = |attribute: &Parameter| {
            let keyword = attribute.keyword.as_str();
            if !known.contains(&keyword) {
                return Err(wrong(&format!("{keyword:.80} is no attribute of {verb}; it takes {}", known.join(", "))));
            }
            let value = attribute.value.as_deref().unwrap_or_default();
            let text = xtext::decode(value).ok_or_else(|| wrong(&format!("{keyword} is no xtext")))?;
            let text = Some(text)
                .filter(|text| !["[UNAVAILABLE]", "[TEMPUNAVAIL]"].contains(&text.to_ascii_uppercase().as_str()));
            match (keyword, &text) {
                ("ADDR", Some(text)) if address(text).is_none() => {
                    Err(wrong("ADDR is an address, such as 192.0.2.1 or IPV6:2001:db8::1"))
                }
                ("ADDR", _) => Ok((Told::Address, text)),
                ("LOGIN", Some(name)) if name.len() > LOGIN || name.chars().any(char::is_control) => {
                    Err(wrong(&format!("LOGIN is a name of at most {LOGIN} octets")))
                }
                ("LOGIN", _) => Ok((Told::Login, text)),
                _ => Ok((Told::Other, text)),
            }
        };
        attributes.iter().map(read).collect()
    }
}

/// What an attribute tells of.
enum Told {
    Address,
    Login,
    Other,
}

/// `192.0.2.1`, `IPV6:2001:db8::1`, or without the tag, as some write it.
fn address(text: &str) -> Option<IpAddr> {
    let tagged = text.get(..5).filter(|tag| tag.eq_ignore_ascii_case("IPV6:")).and_then(|tag| text.get(tag.len()..));
    tagged.unwrap_or(text).parse().ok().map(|address: IpAddr| address.to_canonical())
}
