//! What the repairs of values share: which fields hold addresses, and the text of a value.

use crate::header::{Header, is_plain, printable, text_in};

/// The fields whose value is an address list (RFC 5322 section 3.6, and what came later).
const ADDRESS_FIELDS: &[&str] = &[
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "bcc",
    "resent-from",
    "resent-sender",
    "resent-reply-to",
    "resent-to",
    "resent-cc",
    "resent-bcc",
    "errors-to",
    "return-receipt-to",
    "disposition-notification-to",
    "mail-followup-to",
    "mail-reply-to",
];

/// Whether a field of that name holds an address list.
pub(super) fn holds_addresses(name: impl AsRef<[u8]>) -> bool {
    ADDRESS_FIELDS.iter().any(|field| field.as_bytes().eq_ignore_ascii_case(name.as_ref()))
}

/// The positions and names of the fields that hold address lists.
pub(super) fn address_fields(header: &Header) -> Vec<(usize, String)> {
    let named = header.names().filter(|(_, name)| holds_addresses(name));
    named.map(|(at, name)| (at, String::from_utf8_lossy(name).into_owned())).collect()
}

/// The unfolded list of an address field. Controls are blanks, which they become in the end: a list that is read
/// with them would be another one than is written.
pub(super) fn list(header: &Header, at: usize) -> String {
    let text = text(header, at);
    if is_plain(text.as_bytes()) { text } else { printable(&text) }
}

/// The domain that a local part alone gets: our own name, if it is one.
pub(super) fn own_domain(hostname: &str) -> Option<&str> {
    hostname.contains('.').then_some(hostname)
}

/// The unfolded text of a value, in UTF-8 or the charset of the message.
pub(super) fn text(header: &Header, at: usize) -> String {
    let octets = header.unfolded(at);
    match std::str::from_utf8(&octets) {
        Ok(text) if !octets.contains(&0x1b) => text.to_owned(),
        _ => text_in(&octets, charset(header).as_deref()).into_owned(),
    }
}

/// The charset that the first Content-Type names.
fn charset(header: &Header) -> Option<String> {
    let at = header.find("Content-Type").next()?;
    let value = String::from_utf8_lossy(&header.unfolded(at)).to_ascii_lowercase();
    let (_, rest) = value.split_once("charset=")?;
    let end = |one: char| matches!(one, ';' | '"' | ' ' | '\t');
    rest.trim_start_matches('"').split(end).next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Tools of these repairs' tests.
#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;

    use super::super::{Mending, REPAIRS};
    use crate::{
        mail::{Client, Envelope, Id},
        rules::{draft::Draft, facts::Facts},
    };

    /// What some repairs, one after the other, make of a message: the reply that refuses it, or the message.
    pub(in super::super) fn mended(repairs: &[&str], raw: &[u8]) -> Result<Vec<u8>, String> {
        let mut draft = Draft::new(Envelope::default(), &Bytes::copy_from_slice(raw));
        let client = Client::new([127, 0, 0, 1].into(), "smtp");
        let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: "relay.example.com".to_owned() };
        for name in repairs {
            let row = REPAIRS.iter().find(|row| row.name == *name).unwrap();
            let mut mending = Mending { draft: &mut draft, facts: &facts, rule: &"test".into(), repair: row.name };
            (row.apply)(&mut mending).map_err(|reply| reply.to_string())?;
        }
        Ok(draft.message().to_bytes().to_vec())
    }
}
