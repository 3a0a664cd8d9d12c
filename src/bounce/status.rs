//! The part for programs, `message/delivery-status` (RFC 3464 section 2).

use std::fmt::Write as _;

use super::{Entry, Kind, Report, date};
use crate::{header::fold, mail::Enhanced};

/// Characters of an ORCPT (RFC 3461 section 4.2) and of a diagnostic, and of an ENVID (section 4.4), that are shown.
const ORIGINAL: usize = 500;
const DIAGNOSTIC: usize = 1000;
const ENVELOPE_ID: usize = 100;

/// The fields of the message and, behind an empty line each, those of the recipients.
pub(super) fn status(report: &Report<'_>) -> String {
    let mut out = fold("Reporting-MTA", &format!("dns; {}", report.host()));
    if let Some(id) = report.original.envelope_id.map(|id| safe(id, ENVELOPE_ID)).filter(|id| !id.is_empty()) {
        out.push_str(&fold("Original-Envelope-Id", &id));
    }
    out.push_str(&fold("Arrival-Date", &date(report.original.arrival)));
    for entry in report.entries {
        out.push_str("\r\n");
        recipient(report, entry, &mut out);
    }
    out
}

fn recipient(report: &Report<'_>, entry: &Entry, out: &mut String) {
    let mut field = |name: &str, value: &str| out.push_str(&fold(name, value));
    if let Some(original) = entry.original.as_deref().and_then(original) {
        field("Original-Recipient", &original);
    }
    field("Final-Recipient", &format!("rfc822; {}", entry.recipient));
    field("Action", report.kind.action());
    field("Status", &code(report.kind, entry).to_string());
    if let Some(host) = entry.remote_mta.as_deref().map(|host| safe(host, 255)).filter(|host| !host.is_empty()) {
        field("Remote-MTA", &format!("dns; {host}"));
    }
    field("Diagnostic-Code", &format!("smtp; {}", safe(&entry.reply.to_string(), DIAGNOSTIC)));
    if let Some(time) = entry.last_attempt {
        field("Last-Attempt-Date", &date(time));
    }
    field("Final-Log-ID", &report.original.id.to_string());
    if let Kind::Delayed { until } = report.kind {
        field("Will-Retry-Until", &date(until));
    }
}

/// The code of the reply where its class agrees with the action: RFC 3463 section 3.5 wants the actual problem rather
/// than `4.4.7` for what has expired.
fn code(kind: Kind, entry: &Entry) -> Enhanced {
    let (classes, otherwise): (&[u8], _) = match kind {
        Kind::Failed if entry.reply.is_transient() => (&[4], Enhanced(4, 4, 7)),
        Kind::Failed => (&[5], Enhanced(5, 0, 0)),
        Kind::Delayed { .. } => (&[4], Enhanced(4, 0, 0)),
        Kind::Relayed => (&[2], Enhanced(2, 0, 0)),
    };
    entry.reply.enhanced().filter(|code| classes.contains(&code.0)).unwrap_or(otherwise)
}

/// `type; address`, if it is of that form.
fn original(orcpt: &str) -> Option<String> {
    let (kind, address) = orcpt.split_once(';')?;
    let (kind, address) = (kind.trim(), safe(address, ORIGINAL));
    let is_atom = !kind.is_empty()
        && kind.len() <= 40
        && kind.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
    (is_atom && !address.is_empty()).then(|| format!("{kind}; {address}"))
}

/// A text as printable ASCII, what is not that in the form of RFC 6533 section 3, such as `\x{E9}`; cut where it is long.
fn safe(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for one in text.trim().chars() {
        match one {
            ' '..='~' => out.push(one),
            other => {
                let _ = write!(out, "\\x{{{:02X}}}", u32::from(other));
            }
        }
        if out.len() >= longest {
            break;
        }
    }
    out.truncate(longest);
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_original_recipient_has_a_type() {
        assert_eq!(original("rfc822;a@example.com").as_deref(), Some("rfc822; a@example.com"));
        assert_eq!(
            original("utf-8;J\u{e9}r\u{f4}me@example.com").as_deref(),
            Some("utf-8; J\\x{E9}r\\x{F4}me@example.com")
        );
        for wrong in ["", "a@example.com", "rfc822;", ";a@example.com", "rfc 822;a", "x\r\nAction: delivered;a"] {
            assert_eq!(original(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nothing_in_a_value_can_begin_a_line() {
        assert_eq!(safe(" a\r\nAction: delivered\0\u{2028}b", 99), "a\\x{0D}\\x{0A}Action: delivered\\x{00}\\x{2028}b");
        assert_eq!(safe(&"x".repeat(2000), DIAGNOSTIC).len(), DIAGNOSTIC);
    }
}
