//! What SES would refuse in the address fields of a message, in its own words where they are known.
//!
//! SES was seen to refuse addresses with the texts below (`BadRequestException`); which of a name's faults it minds
//! besides is a guess, and only warned of.

use super::{Finding, Severity};
use crate::{
    header::Header,
    mime::address::{Fault, Flaw, Letters, Spec, survey},
};

/// The fields whose addresses SES is seen to read.
const FIELDS: &[&str] = &["from", "sender", "reply-to", "to", "cc"];
/// Characters of an address that a finding shows.
const SHOWN: usize = 80;

/// The finding on one field, if it has one: the field at a position, whose first line has that number.
pub(super) fn finding(header: &Header, at: usize, line: usize) -> Option<Finding> {
    let name = header.name(at).filter(|name| FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name)))?;
    let value = header.unfolded(at);
    let list = String::from_utf8_lossy(&value);
    let from = name.eq_ignore_ascii_case("from");
    let (specs, mut flaws) = flaws(&list);
    let nobody = specs.is_empty() && flaws.iter().all(|flaw| flaw.fault == Fault::Separator);
    // A group without members names nobody.
    if from && (nobody || !list.contains('@')) {
        flaws.push(Flaw { fault: Fault::Empty, near: list.trim() });
    }
    let told = |flaw: &Flaw<'_>| match said(flaw.fault) {
        _ if flaw.fault == Fault::Empty && from => (Severity::Refuse, "Missing required header 'From'.".to_owned()),
        Some(text) => (Severity::Refuse, text.to_owned()),
        None => (Severity::Warn, flaw.fault.to_string()),
    };
    // What only may be refused hides nothing that is.
    let worst = flaws.iter().find(|flaw| told(flaw).0 == Severity::Refuse).or(flaws.first())?;
    let ((severity, text), near) = (told(worst), worst.near);
    let shown: String = near.chars().take(SHOWN).collect();
    Some(Finding { severity, line, reason: format!("{name}: {text}: {shown:?}") })
}

/// The addresses of a list and its faults; letters outside ASCII are one in addresses only, here.
fn flaws(list: &str) -> (Vec<Spec<'_>>, Vec<Flaw<'_>>) {
    let (specs, mut flaws) = survey(list, Letters::Utf8);
    flaws.extend(specs.iter().filter_map(|spec| match (spec.local.is_ascii(), spec.domain.is_ascii()) {
        (true, true) => None,
        (false, _) => Some(Flaw { fault: Fault::LocalNotAscii, near: spec.local }),
        (true, false) => Some(Flaw { fault: Fault::DomainNotAscii, near: spec.domain }),
    }));
    (specs, flaws)
}

/// The text with which SES was seen to refuse such an address.
fn said(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::NoAt => Some("Missing final '@domain'"),
        Fault::NoLocal => Some("Missing local name"),
        Fault::NoDomain => Some("Missing domain"),
        Fault::LocalBlank => Some("Local address contains control or whitespace"),
        Fault::LocalIllegal | Fault::LocalNotAscii => Some("Local address contains illegal character"),
        Fault::DomainBlank => Some("Domain contains control or whitespace"),
        Fault::DomainIllegal | Fault::DomainNotAscii => Some("Domain contains illegal character"),
        Fault::Route => Some("Extra route-addr"),
        Fault::Angle => Some("Illegal address"),
        Fault::Empty
        | Fault::Phrase
        | Fault::Word
        | Fault::NotAscii
        | Fault::Control
        | Fault::Separator
        | Fault::Group => None,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn found(field: &str) -> String {
        let header = Header::parse(&Bytes::from(format!("{field}\r\n")));
        finding(&header, 0, 3).map(|finding| finding.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_ses_takes_is_clean() {
        for field in [
            "From: =?utf-8?q?J=C3=BCrgen?= <a@example.com>,\r\n \"B, C\" <b@example.com>",
            "To: undisclosed-recipients:;",
            "Cc: G: a@example.com (x);",
            "Reply-To: Jürgen <a@[192.0.2.1]>",
            "Errors-To: Evan",
            "X-From: a b",
        ] {
            assert_eq!(found(field), "", "{field}");
        }
    }

    #[test]
    fn what_ses_refuses_is_told_in_its_words() {
        for (field, reason) in [
            ("From: Evan", "line 3: From: Missing final '@domain': \"Evan\""),
            ("from:", "line 3: from: Missing required header 'From'.: \"\""),
            ("To: a@b.example, @c.example", "line 3: To: Missing local name: \"@c.example\""),
            ("Cc: a@", "line 3: Cc: Missing domain: \"a@\""),
            ("Sender: Doe, Ada <a@b.example>", "line 3: Sender: Missing final '@domain': \"Doe\""),
            (
                "To: Ada <ada @b.example>",
                "line 3: To: Local address contains control or whitespace: \"Ada <ada @b.example>\"",
            ),
            ("To: a..b@c.example", "line 3: To: Local address contains illegal character: \"a..b@c.example\""),
            ("To: 用@c.example", "line 3: To: Local address contains illegal character: \"用\""),
            ("Reply-To: <a@ b.example>", "line 3: Reply-To: Domain contains control or whitespace: \"<a@ b.example>\""),
            ("To: a@b_c.example", "line 3: To: Domain contains illegal character: \"a@b_c.example\""),
            ("To: a@bücher.example", "line 3: To: Domain contains illegal character: \"bücher.example\""),
            ("To: <@a.example:b@c.example>", "line 3: To: Extra route-addr: \"<@a.example:b@c.example>\""),
            ("To: Ada <a@b.example", "line 3: To: Illegal address: \"Ada <a@b.example\""),
        ] {
            assert_eq!(found(field), reason);
        }
    }

    #[test]
    fn what_ses_may_mind_is_warned_of() {
        for (field, reason) in [
            ("To:", "there is no address: \"\""),
            ("To: A. Doe <a@b.example>", "a display name has a character that needs quotes: \"A. Doe <a@b.example>\""),
            ("To: a@b.example,", "the list has an empty place or a semicolon: \"\""),
            (
                "To: \"=?utf-8?q?x?=\" <a@b.example>",
                "an encoded-word is not legal where it stands: \"\\\"=?utf-8?q?x?=\\\" <a@b.example>\"",
            ),
        ] {
            assert_eq!(found(field), format!("line 3: To: {reason} (perhaps)"));
        }
    }

    #[test]
    fn what_may_be_refused_hides_nothing_that_is() {
        for (field, reason) in [
            ("From: ;; a@b.example, 1 Jan", "Local address contains control or whitespace: \"1 Jan\""),
            ("From: :@", "Missing local name: \"@\""),
            ("From: A. Doe <a b@c.example>", "Local address contains control or whitespace: \"<a b@c.example>\""),
            ("From: a@b.example; 用@c.example", "Local address contains illegal character: \"用\""),
            ("From: a@b.example ;; Evan", "Missing final '@domain': \"Evan\""),
            ("From: a@b.example,,;;,;Evan", "Missing final '@domain': \"Evan\""),
        ] {
            assert_eq!(found(field), format!("line 3: From: {reason}"));
        }
    }

    #[test]
    fn a_from_of_an_empty_group_is_none() {
        for value in [":", "undisclosed-recipients:;", "\"a b@c\":;", "(nobody)"] {
            let reason = format!("line 3: From: Missing required header 'From'.: {value:?}");
            assert_eq!(found(&format!("From: {value}")), reason);
        }
    }
}
