//! `duplicates`: of the fields that may stand once only, the best one stays.
//!
//! SES refuses a second one of sixty fields, receivers a second To or Cc (RFC 5322 section 3.6). Equal copies and empty
//! ones go; of the others that one stays that the message needs (the Content-Type whose boundary is in the body, the
//! address field that holds an address), and the rest keep their value under another name.

use std::collections::BTreeMap;

use memchr::memmem;

use super::{Mending, RepairRow};
use crate::{
    header::{FieldName, ONCE_ONLY},
    mime::mailboxes,
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "duplicates",
    doc: "of the fields that may stand once only the best one stays; equal and empty copies go, the others become X-…",
    apply: |mending| {
        for positions in groups(mending).into_values() {
            resolve(mending, positions);
        }
        Ok(())
    },
};

/// Fields that hold addresses.
const ADDRESSES: &[&str] =
    &["from", "to", "cc", "bcc", "reply-to", "sender", "errors-to", "return-receipt-to", "disposition-notification-to"];

/// The fields that stand more than once and may not, by name.
fn groups(mending: &Mending<'_>) -> BTreeMap<String, Vec<usize>> {
    let header = mending.header();
    let named: Vec<(usize, &[u8])> = header.names().collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (at, name)) in named.iter().enumerate() {
        // Most headers have no field twice; names of other lengths are no equal names.
        let same = |other: &&(usize, &[u8])| other.1.len() == name.len() && other.1.eq_ignore_ascii_case(name);
        let Some((first, _)) = named.iter().take(index).find(same) else { continue };
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if ONCE_ONLY.binary_search(&name.as_str()).is_ok() || ["to", "cc"].contains(&name.as_str()) {
            groups.entry(name).or_insert_with(|| vec![*first]).push(*at);
        }
    }
    groups
}

fn resolve(mending: &mut Mending<'_>, positions: Vec<usize>) {
    let best = best(mending, &positions);
    let kept = mending.header().unfolded(best).into_owned();
    for at in positions.into_iter().filter(|at| *at != best) {
        let value = mending.header().unfolded(at);
        if value.is_empty() || *value == kept[..] {
            mending.remove(at);
        } else if let Some(name) =
            mending.header().name(at).and_then(|name| FieldName::parse(&format!("X-{name}")).ok())
        {
            mending.rename(at, &name);
        }
    }
}

fn best(mending: &Mending<'_>, positions: &[usize]) -> usize {
    let header = mending.header();
    let first = positions.first().copied().unwrap_or_default();
    let name = header.name(first).unwrap_or_default().to_ascii_lowercase();
    let wanted = |at: &usize| match name.as_str() {
        "content-type" => has_boundary(&header.unfolded(*at), &mending.draft.rest),
        name if ADDRESSES.contains(&name) => mailboxes(header.raw(*at)).iter().any(|one| one.address.contains('@')),
        _ => false,
    };
    let full = |at: &usize| !header.unfolded(*at).is_empty();
    let found = positions.iter().copied().find(wanted).or_else(|| positions.iter().copied().find(full));
    found.unwrap_or(first)
}

/// Whether the boundary that a Content-Type names stands in the body.
fn has_boundary(value: &[u8], body: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let Some(start) = memmem::find(&lower, b"boundary=").map(|at| at + "boundary=".len()) else { return false };
    let rest = value.get(start..).unwrap_or_default();
    let boundary = match rest.strip_prefix(b"\"") {
        Some(quoted) => quoted.split(|octet| *octet == b'"').next(),
        None => rest.split(|octet| matches!(octet, b';' | b' ' | b'\t')).next(),
    };
    let boundary = boundary.unwrap_or_default();
    !boundary.is_empty() && memmem::find(body, &[b"--", boundary].concat()).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    fn mended(raw: &str) -> String {
        repaired("duplicates", raw).unwrap()
    }

    #[test]
    fn the_content_type_whose_boundary_is_in_the_body_stays() {
        let raw = "Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=\"b 1\"\r\n\r\n--b 1\r\n\r\nx\r\n--b 1--\r\n";
        assert!(
            mended(raw)
                .starts_with("X-Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=\"b 1\"\r\n")
        );
    }

    #[test]
    fn the_field_that_holds_an_address_stays() {
        assert_eq!(
            mended("To: undisclosed-recipients:;\r\nto: a@example.com\r\n\r\n"),
            "X-To: undisclosed-recipients:;\r\nto: a@example.com\r\n\r\n"
        );
        assert_eq!(mended("To:\r\nTo: undisclosed-recipients:;\r\n\r\n"), "To: undisclosed-recipients:;\r\n\r\n");
        assert_eq!(
            mended("From: Evan\r\nFrom: evan@example.com\r\n\r\n"),
            "X-From: Evan\r\nFrom: evan@example.com\r\n\r\n"
        );
    }

    #[test]
    fn equal_copies_go_and_others_keep_their_value() {
        assert_eq!(mended("Date: x\r\nDate:\r\n x\r\nDate: y\r\n\r\n"), "Date: x\r\nX-Date: y\r\n\r\n");
        untouched("duplicates", "Received: x\r\nReceived: x\r\nX-A: b\r\nX-A: b\r\nTo: a\r\n\r\n");
    }
}
