//! The message on standard input, as sendmail(8) submits it: whole, from somebody, to somebody.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::MetadataExt as _,
};

use bytes::Bytes;
use jiff::ZonedDateTime;

use crate::{
    cli::recipients,
    header::{self, FieldName, Header},
    mail::{Address, Client, Envelope, Id, Sender},
    smtp::Transaction,
};

use super::flags::Asked;

const RESENT: &[&str] = &["Resent-To", "Resent-Cc", "Resent-Bcc"];

/// The message as a transaction; `own` is the domain of names without one.
///
/// # Errors
/// Nobody to send to, or an address that is none.
pub(super) fn transaction(asked: &Asked, input: &[u8], own: &str) -> Result<Transaction, String> {
    let id = Id::mint();
    let raw = Bytes::from(with_crlf(if asked.ignore_dots { input } else { until_dot(input) }));
    let mut recipients = asked.recipients.iter().map(|one| address(one, own)).collect::<Result<Vec<_>, _>>()?;
    let message = header::split(&raw);
    let mut header = Header::parse(&message.head);
    if asked.from_header {
        let resent = RESENT.iter().any(|name| header.find(name).next().is_some());
        let fields = if resent { RESENT } else { recipients::FIELDS };
        for one in recipients::named(&raw, fields, Some(own))? {
            if !recipients.contains(&one) {
                recipients.push(one);
            }
        }
        for name in ["Bcc", "Resent-Bcc"] {
            let found: Vec<usize> = header.find(name).collect();
            found.into_iter().for_each(|at| header.remove(at));
        }
    }
    if recipients.is_empty() {
        let text = if asked.from_header {
            "no recipient in To, Cc or Bcc"
        } else {
            "no recipient; -t takes those of the header"
        };
        return Err(text.to_owned());
    }
    let sender = sender(asked, own)?;
    complete(&mut header, (asked, &sender), (own, id));
    let whole = [&header.finish()[..], &separated(&message.rest)].concat();
    let envelope = Envelope { sender, recipients, ..Envelope::default() };
    let client = Client::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "sendmail");
    Ok(Transaction { id, client, envelope, raw: Bytes::from(whole) })
}

/// What a submitted message lacks (RFC 6409 section 8): From, Date, Message-ID.
fn complete(header: &mut Header, (asked, sender): (&Asked, &Sender), (own, id): (&str, Id)) {
    let from = || {
        let address = sender.0.as_ref().map_or_else(|| format!("{}@{own}", user()), ToString::to_string);
        let name = asked.name.as_deref().unwrap_or_default().replace(['\\', '"'], "").replace(['\r', '\n'], " ");
        if name.is_empty() { address } else { format!("\"{name}\" <{address}>") }
    };
    let mut add = |name: &str, value: String| {
        if header.find(name).next().is_none()
            && let Ok(name) = FieldName::parse(name)
        {
            header.append(&name, &value);
        }
    };
    add("From", from());
    add("Date", ZonedDateTime::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string());
    add("Message-ID", format!("<{id}@{own}>"));
}

/// A message that is all header gets the empty line behind it.
fn separated(rest: &Bytes) -> Vec<u8> {
    if rest.is_empty() { b"\r\n".to_vec() } else { rest.to_vec() }
}

fn sender(asked: &Asked, own: &str) -> Result<Sender, String> {
    match asked.sender.as_deref().map(str::trim) {
        Some("" | "<>") => Ok(Sender(None)),
        Some(text) if text.eq_ignore_ascii_case("MAILER-DAEMON") => Ok(Sender(None)),
        Some(text) => address(text, own).map(|one| Sender(Some(one))),
        None => address(&user(), own).map(|one| Sender(Some(one))),
    }
}

/// An address; a local part alone is one of this machine.
fn address(text: &str, own: &str) -> Result<Address, String> {
    let text = text.trim();
    let inside = text.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(text);
    let whole = if inside.contains('@') { inside.to_owned() } else { format!("{inside}@{own}") };
    Address::parse(&whole).map_err(|error| format!("<{inside}>: {error}"))
}

/// Who runs this, by the system's list of users.
fn user() -> String {
    let Ok(id) = fs::metadata("/proc/self").map(|metadata| metadata.uid()) else { return "postmaster".to_owned() };
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |line: &str| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number == id.to_string()).then(|| name.to_owned())
    };
    let named = || std::env::var("LOGNAME").or_else(|_| std::env::var("USER")).ok();
    users.lines().find_map(of).or_else(named).unwrap_or_else(|| format!("uid{id}"))
}

/// The input up to a line of a single dot.
fn until_dot(input: &[u8]) -> &[u8] {
    let mut done = 0;
    for line in input.split_inclusive(|octet| *octet == b'\n') {
        if matches!(line, b".\n" | b".\r\n" | b".") {
            return input.get(..done).unwrap_or_default();
        }
        done += line.len();
    }
    input
}

/// Local mail ends its lines with LF alone.
fn with_crlf(input: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(input.len() + input.len() / 32 + 2);
    for line in input.split_inclusive(|octet| *octet == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(content) => {
                octets.extend_from_slice(content.strip_suffix(b"\r").unwrap_or(content));
                octets.extend_from_slice(b"\r\n");
            }
            None => octets.extend_from_slice(line),
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn of(line: &str, input: &str) -> Result<Transaction, String> {
        let asked = Asked::read(line.split(' ').map(OsString::from).collect()).unwrap();
        transaction(&asked, input.as_bytes(), "host.example")
    }

    fn recipients(transaction: &Transaction) -> String {
        transaction.envelope.recipients.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_header_names_the_recipients_and_bcc_goes() {
        let mail =
            "From: a@x.example\nTo: b@x.example, root\nDate: d\nMessage-ID: m\nBcc: c@x.example\nSubject: s\n\nx\n";
        let made = of("-t -i -f a@x.example d@x.example", mail).unwrap();
        assert_eq!(recipients(&made), "d@x.example b@x.example root@host.example c@x.example");
        let expected =
            "From: a@x.example\r\nTo: b@x.example, root\r\nDate: d\r\nMessage-ID: m\r\nSubject: s\r\n\r\nx\r\n";
        assert_eq!(made.raw, expected);
    }

    #[test]
    fn resent_fields_rule_when_there_are_any() {
        let mail = "To: b@x.example\nBcc: c@x.example\nResent-To: d@x.example\nResent-Bcc: e@x.example\n\nx\n";
        let made = of("-t", mail).unwrap();
        assert_eq!(recipients(&made), "d@x.example e@x.example");
        assert!(!String::from_utf8_lossy(&made.raw).contains("cc:"));
    }

    #[test]
    fn a_lone_dot_ends_the_message_unless_told_otherwise() {
        let mail = "Subject: s\n\na\n.\nb\n";
        assert!(of("-f <> b@x.example", mail).unwrap().raw.ends_with(b"\r\na\r\n"));
        assert!(of("-oi -f <> b@x.example", mail).unwrap().raw.ends_with(b"\r\na\r\n.\r\nb\r\n"));
    }

    #[test]
    fn what_a_message_lacks_is_added() {
        let made = of("-F Cron -f root b@x.example", "Subject: s\n\nx\n").unwrap();
        assert_eq!(made.envelope.sender.to_string(), "root@host.example");
        let text = String::from_utf8_lossy(&made.raw).into_owned();
        assert!(text.starts_with("Subject: s\r\nFrom: \"Cron\" <root@host.example>\r\nDate: "), "{text}");
        assert!(text.contains("\r\nMessage-ID: <") && text.ends_with("@host.example>\r\n\r\nx\r\n"), "{text}");
    }

    #[test]
    fn nobody_to_send_to_is_told() {
        assert_eq!(of("-t", "Subject: s\n\n").unwrap_err(), "no recipient in To, Cc or Bcc");
        assert!(of("-i", "Subject: s\n\n").is_err());
        assert!(of("b@@x", "Subject: s\n\n").unwrap_err().starts_with("<b@@x>: "));
    }
}
