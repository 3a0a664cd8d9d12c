//! `[bounce]`: reports about mail that did not arrive, is late, or went where nobody reports (RFC 3464).
//!
//! What became of some recipients of one message goes in, with all times; a whole message comes out. It has no clock
//! and no chance in it: the same report is the same octets, so that one made again after a crash is no second one. It
//! does not know how a report travels.
//!
//! Clients wrote most of what a report tells: subject, addresses, the header, and much of an upstream's answer. None of
//! it reaches a header of the report but a well-formed Message-ID, and no line of it can be taken for a boundary.

mod advice;
mod original;
mod status;
mod text;

use bytes::Bytes;
use jiff::Timestamp;
use mail_builder::{
    MessageBuilder,
    headers::{address::Address as Mailbox, content_type::ContentType, message_id::MessageId, raw::Raw},
    mime::{BodyPart, MimePart},
};

use crate::mail::{Address, Id, Message, Period, Reply};

/// `[bounce]`: reports to senders, whom they come from, and when.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A verified address: whom reports come from, and where SES reports about mail with the null sender, for which SES
    /// still needs an address. Without it reports come from postmaster at the domain of the sender.
    pub from: String,
    /// queue: how long a message waits until its sender is told, once, that it is late; 0s: never.
    pub delay_notice: Period,
}

impl Default for Settings {
    fn default() -> Self {
        Self { from: String::new(), delay_notice: Period::seconds(0) }
    }
}

/// Whom a report comes from: the one of the settings, else postmaster at the domain of the sender it goes to.
///
/// An address literal is no domain that SES could have verified; there the host's own name stands in its place.
pub fn sender_of(settings_from: Option<&Address>, original_sender: &Address, hostname: &str) -> Address {
    let domain = original_sender.domain();
    let hosts = if domain.starts_with('[') { [hostname, domain] } else { [domain, hostname] };
    let mut postmasters = hosts.into_iter().filter_map(|host| Address::from_parts("postmaster", host).ok());
    settings_from.cloned().or_else(|| postmasters.next()).unwrap_or_else(|| original_sender.clone())
}

/// What a report tells of all its recipients (RFC 3464 section 2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// They do not get the message, and no more attempts are made.
    Failed,
    /// They have not got it yet.
    Delayed {
        /// When the last attempt will be.
        until: Timestamp,
    },
    /// The upstream accepted it and will not report that it arrived.
    Relayed,
}

impl Kind {
    /// The word of RFC 3464.
    pub fn action(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Delayed { .. } => "delayed",
            Self::Relayed => "relayed",
        }
    }

    fn subject(self) -> &'static str {
        match self {
            Self::Failed => "Delivery Status Notification (Failure)",
            Self::Delayed { .. } => "Delivery Status Notification (Delay)",
            Self::Relayed => "Delivery Status Notification (Relayed)",
        }
    }
}

/// One recipient and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The RCPT.
    pub recipient: Address,
    /// Its ORCPT with the xtext decoded, such as `rfc822;user@example.com` (RFC 3461 section 4.2).
    pub original: Option<String>,
    /// The last answer, in the upstream's own words.
    pub reply: Reply,
    /// The host that gave the answer, if it was one that speaks SMTP.
    pub remote_mta: Option<String>,
    /// When the last attempt was made, if there was one.
    pub last_attempt: Option<Timestamp>,
}

/// The message that a report is about.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its id.
    pub id: Id,
    /// When it came in.
    pub arrival: Timestamp,
    /// Its ENVID with the xtext decoded (RFC 3461 section 4.4).
    pub envelope_id: Option<&'a str>,
    /// Its header section, as it came in or as it would have left.
    pub head: &'a Bytes,
    /// The whole of it, where its sender wants it back (RET=FULL).
    pub whole: Option<&'a Message>,
}

/// A report about one message to its sender.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What became of the recipients.
    pub kind: Kind,
    /// The report's own id, from which its Message-ID and its boundary are made.
    pub id: Id,
    /// Our own name.
    pub hostname: &'a str,
    /// Whom it comes from, see [`sender_of`].
    pub from: &'a Address,
    /// The sender of the original. The envelope of the report has the null sender (RFC 3464 section 2).
    pub to: &'a Address,
    /// When it is made.
    pub time: Timestamp,
    /// The message it is about.
    pub original: Original<'a>,
    /// Its recipients that are reported, with what became of each.
    pub entries: &'a [Entry],
}

impl Report<'_> {
    /// The whole message: ASCII, CRLF, lines of at most 998 octets.
    ///
    /// Three parts (RFC 6522): a text for people, `message/delivery-status`, and the header of the original or, where it is
    /// wanted and can be had, the whole of it.
    pub fn build(&self) -> Bytes {
        let original = original::Header::read(self.original.head);
        let text = text::text(self, &original);
        let status = status::status(self);
        let third = self.returned(&original);
        let boundary = self.boundary(&[text.as_bytes(), status.as_bytes(), &third.octets]);
        let parts = vec![
            MimePart::new("text/plain", text).header("Content-Description", Raw::new("Notification")),
            verbatim("message/delivery-status", "Delivery report", ("7bit", status.into())),
            verbatim(third.kind, third.description, (third.encoding, third.octets.into())),
        ];
        let kind = ContentType::new("multipart/report")
            .attribute("report-type", "delivery-status")
            .attribute("boundary", boundary);
        let mut message = MessageBuilder::new()
            .from(Mailbox::new_address(Some("Mail Delivery System"), self.from.to_string()))
            .to(Mailbox::new_address(None::<&str>, self.to.to_string()))
            .subject(self.kind.subject())
            .header("Date", Raw::new(date(self.time)))
            .message_id(format!("{}@{}", self.id, self.host()));
        if let Some(id) = original.message_id() {
            message = message.in_reply_to(id.clone()).header("References", MessageId::new(id));
        }
        let mut octets = Vec::new();
        message
            .header("Auto-Submitted", Raw::new("auto-replied"))
            .header("MIME-Version", Raw::new("1.0"))
            .body(MimePart {
                headers: vec![("Content-Type".into(), kind.into())],
                contents: BodyPart::Multipart(parts),
            })
            .serialize(&mut octets);
        Bytes::from(octets)
    }

    /// What comes back of the original: all of it only with a failure (RFC 3461 section 4.3), and not where its content was
    /// what was refused, since the report would be refused for the same.
    fn returned(&self, original: &original::Header) -> Returned {
        let is_content = |entry: &Entry| entry.reply.enhanced().is_none_or(|code| matches!(code.1, 6 | 7));
        let wanted = self.original.whole.filter(|_| self.kind == Kind::Failed && !self.entries.iter().any(is_content));
        match wanted.and_then(original::whole) {
            Some(octets) => Returned {
                kind: "message/rfc822",
                description: "The message",
                encoding: "7bit",
                octets: octets.to_vec(),
            },
            None => {
                let (encoding, octets) = original.encoded();
                Returned { kind: "text/rfc822-headers", description: "Header of the message", encoding, octets }
            }
        }
    }

    /// Our own name, or one that is legal in its place.
    fn host(&self) -> String {
        Address::from_parts("postmaster", self.hostname).map_or("localhost".to_owned(), |one| one.domain().to_owned())
    }

    /// A boundary that none of the parts holds, whatever is in them.
    fn boundary(&self, parts: &[&[u8]]) -> String {
        let mut boundary = format!("report-{}", self.id);
        let held = |boundary: &str| parts.iter().any(|part| memchr::memmem::find(part, boundary.as_bytes()).is_some());
        for number in 1_usize.. {
            if !held(&boundary) {
                break;
            }
            boundary = format!("report-{}-{number}", self.id);
        }
        boundary
    }
}

/// The third part.
struct Returned {
    kind: &'static str,
    description: &'static str,
    encoding: &'static str,
    octets: Vec<u8>,
}

/// A part whose body is ready to be sent.
fn verbatim<'a>(kind: &'a str, description: &'a str, (encoding, body): (&'a str, BodyPart<'a>)) -> MimePart<'a> {
    MimePart::raw(body)
        .header("Content-Description", Raw::new(description))
        .header("Content-Type", ContentType::new(kind))
        .transfer_encoding(encoding)
}

/// RFC 5322 section 3.3, in UTC.
fn date(time: Timestamp) -> String {
    time.strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn a_report_comes_from_the_settings_or_from_postmaster() {
        let from = |settings: Option<&str>, original: &str, hostname: &str| {
            sender_of(settings.map(address).as_ref(), &address(original), hostname).to_string()
        };
        assert_eq!(from(Some("b@example.com"), "a@example.org", "relay"), "b@example.com");
        assert_eq!(from(None, "a@example.org", "relay.example.com"), "postmaster@example.org");
        assert_eq!(from(None, "a@[192.0.2.1]", "relay.example.com"), "postmaster@relay.example.com");
        assert_eq!(from(None, "a@[192.0.2.1]", "no host"), "postmaster@[192.0.2.1]");
    }

    #[test]
    fn a_client_that_knows_the_boundary_cannot_write_a_part() {
        let id = Id::nil();
        let head = format!(
            "A: b
--report-{id}
--report-{id}-1--
C: d
"
        )
        .into();
        let original = Original { id, arrival: Timestamp::UNIX_EPOCH, envelope_id: None, head: &head, whole: None };
        let (kind, hostname, time) = (Kind::Failed, "relay.example.com", Timestamp::UNIX_EPOCH);
        let (from, to) = (&address("postmaster@example.com"), &address("a@example.com"));
        let report = Report { kind, id, hostname, from, to, time, original, entries: &[] }.build();
        let text = std::str::from_utf8(&report).unwrap();
        assert!(text.contains(&format!("boundary=\"report-{id}-2\"")), "{text}");
        let parsed = mail_parser::MessageParser::default().parse(&report[..]).unwrap();
        assert_eq!(parsed.parts.len(), 4);
        assert!(text.contains(&format!("\r\nA: b\r\n--report-{id}\r\n--report-{id}-1--\r\nC: d\r\n")));
    }
}
