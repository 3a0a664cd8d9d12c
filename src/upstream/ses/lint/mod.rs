//! What SES would refuse, known before SES is asked.
//!
//! Only what is documented, in the service model, or in a reply that SES was seen to give refuses.

mod address;
mod parts;

use std::collections::HashSet;

use memchr::{memchr, memchr_iter};

use crate::{
    header::{self, Header, ONCE_ONLY},
    mail::{Envelope, Message},
};

/// Octets of a message after base64: 40 MB (SES quotas page).
const ENCODED_MAX: usize = 40 * 1024 * 1024;
/// Octets of a line without CRLF (service model of SESv2, RFC 5322 section 2.1.1).
const LINE_MAX: usize = 998;

/// How sure it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// SES refuses it.
    Refuse,
    /// SES may refuse it.
    Warn,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Warn => "warn",
        }
    }
}

/// Something that SES would not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How sure it is.
    pub severity: Severity,
    /// The line of the message, from 1; 0 when it is about the whole.
    pub line: usize,
    /// What is wrong, with the field's name.
    pub reason: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason)?,
            line => write!(f, "line {line}: {}", self.reason)?,
        }
        f.write_str(if self.severity == Severity::Warn { " (perhaps)" } else { "" })
    }
}

/// Looks at a message as it would be sent. How many recipients one call takes is no fault of a message: [`Upstream::batch`]
/// tells it, and the queue cuts envelopes by it.
///
/// [`Upstream::batch`]: crate::upstream::Upstream::batch
pub fn lint(_: &Envelope, message: &Message) -> Vec<Finding> {
    let mut findings = Vec::new();
    if message.len().div_ceil(3).saturating_mul(4) > ENCODED_MAX {
        findings.push(refuse(0, format!("{} octets are over the 40 MB that SES takes after base64", message.len())));
    }
    let header = Header::parse(&message.head);
    header_findings(&header, &mut findings);
    parts::findings(&header, message, &mut findings);
    let first_body_line = memchr_iter(b'\n', &message.head).count() + 1;
    line_findings(&message.head, 1, &mut findings);
    line_findings(&message.rest, first_body_line, &mut findings);
    findings
}

fn refuse(line: usize, reason: String) -> Finding {
    Finding { severity: Severity::Refuse, line, reason }
}

fn warn(line: usize, reason: String) -> Finding {
    Finding { severity: Severity::Warn, line, reason }
}

fn header_findings(header: &Header, findings: &mut Vec<Finding>) {
    let (mut seen, mut line, mut from) = (HashSet::new(), 1, false);
    for at in header.positions() {
        let lines = header::lines(header.whole(at)).count();
        from |= header.name(at).is_some_and(|name| name.eq_ignore_ascii_case("from"));
        match header.name(at) {
            None => findings.push(refuse(line, malformed(header.whole(at)))),
            Some(name) if is_spaced(header.whole(at), name) => {
                findings.push(refuse(line, format!("blank between the field name {name} and its colon")));
            }
            Some(name) => {
                let lower = name.to_ascii_lowercase();
                if ONCE_ONLY.binary_search(&lower.as_str()).is_ok() && !seen.insert(lower) {
                    findings.push(refuse(line, format!("Duplicate header '{name}'.")));
                }
            }
        }
        findings.extend(address::finding(header, at, line));
        findings.extend(eight_bit(header, at, line));
        line += lines;
    }
    if !from {
        findings.push(refuse(0, "Missing required header 'From'.".to_owned()));
    }
}

/// Octets outside ASCII, which RFC 5322 section 2.2 forbids; SES says nothing of them.
fn eight_bit(header: &Header, at: usize, line: usize) -> Option<Finding> {
    let name = header.name(at).filter(|_| !header.raw(at).is_ascii())?;
    Some(warn(line, format!("{name}: octets outside ASCII")))
}

fn is_spaced(whole: &[u8], name: &str) -> bool {
    whole.get(name.len()).is_some_and(|octet| *octet != b':')
}

fn malformed(whole: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(whole.get(..60).unwrap_or(whole)).trim_end().to_owned();
    if whole.first() == Some(&b':') {
        format!("Empty header names are illegal: {shown:?}")
    } else {
        format!("this is no header field: {shown:?}")
    }
}

/// Lines that are too long, and lone CR or LF; the first of each.
pub(in crate::upstream) fn line_findings(octets: &[u8], first: usize, findings: &mut Vec<Finding>) {
    let (mut start, mut line, mut long, mut lone) = (0, first, false, false);
    while let Some(rest) = octets.get(start..).filter(|rest| !rest.is_empty()) {
        let end = memchr(b'\n', rest);
        let content = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let text = content.strip_suffix(b"\r").unwrap_or(content);
        if text.len() > LINE_MAX && !long {
            long = true;
            findings.push(refuse(line, format!("a line of {} octets is over the {LINE_MAX} allowed", text.len())));
        }
        let wrong = memchr(b'\r', text).is_some() || end.is_some() && text.len() == content.len();
        if wrong && !lone {
            lone = true;
            findings.push(refuse(line, "a lone CR or LF (RFC 5321 section 2.3.8)".to_owned()));
        }
        start += content.len() + usize::from(end.is_some());
        line += 1;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn findings(raw: &str) -> Vec<String> {
        let message = header::split(&Bytes::from(raw.to_owned()));
        lint(&Envelope::default(), &message).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_plain_message_is_clean() {
        assert_eq!(
            findings("From: a@example.com\r\nReceived: x\r\nReceived: y\r\nChicken: yummy\r\n\r\nhi\r\n"),
            [""; 0]
        );
        assert_eq!(findings(&format!("From: a@example.com\r\n\r\n{}\r\n", "x".repeat(998))), [""; 0]);
    }

    #[test]
    fn what_ses_refuses_is_found_with_its_line() {
        assert_eq!(
            findings("From: a@example.com\r\nDate: x\r\n y\r\ndate: z\r\n\r\n"),
            ["line 4: Duplicate header 'date'."]
        );
        assert_eq!(findings("To: a@example.com\r\n\r\n"), ["Missing required header 'From'."]);
        assert_eq!(findings("From: a@example.com\r\n: x\r\n\r\n"), ["line 2: Empty header names are illegal: \": x\""]);
        assert_eq!(
            findings("From: a@example.com\r\nno field\r\n\r\n"),
            ["line 2: this is no header field: \"no field\""]
        );
        assert_eq!(
            findings("From: a@example.com\r\nX :y\r\n\r\n"),
            ["line 2: blank between the field name X and its colon"]
        );
        assert_eq!(
            findings("From: a@example.com\r\n\r\na\nb\r\n"),
            ["line 3: a lone CR or LF (RFC 5321 section 2.3.8)"]
        );
        assert_eq!(
            findings("From: a@example.com\r\n\r\na\rb\r\n"),
            ["line 3: a lone CR or LF (RFC 5321 section 2.3.8)"]
        );
        let long = format!("From: a@example.com\r\n\r\n{}\r\n", "x".repeat(999));
        assert_eq!(findings(&long), ["line 3: a line of 999 octets is over the 998 allowed"]);
    }
}
