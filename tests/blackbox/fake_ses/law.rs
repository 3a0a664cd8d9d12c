//! What SES refuses by itself. Enters: a whole call; leaves: the first refusal it earns, in SES's words, or none.
//! It must not know what the test wished for.
//!
//! Sources: the SES developer guide, pages "Header fields", "Service quotas", "Error messages"; the API v2 reference
//! (SendEmail, MessageTag, ConfigurationSetName). Where the guide demands something without publishing SES's text
//! (line ends, line length, names of configuration sets), the text here begins as SES's nearest one and says more.
//! In one point the fake is stricter: without destinations SES would take those of the header; a gateway that lets it
//! has lost its envelope, so that is refused with what SES says when the header has none either.

use std::collections::BTreeSet;

use super::address;
use super::answer::Refusal;
use super::call::Call;
use super::fields::{self, Field};
use super::{Profile, names};

/// Destinations a call (quotas page).
const RECIPIENTS: usize = 50;
/// Octets of a message in API v2 (quotas page).
const MESSAGE: usize = 40 * 1024 * 1024;
/// Octets of a line without its CRLF (RFC 5322 section 2.1.1).
const LINE: usize = 998;
/// Octets of a tag's name or value (API v2, MessageTag).
const TAG: usize = 256;
/// Octets of a configuration set's name (API v2, ConfigurationSetName).
const SET_NAME: usize = 64;
/// Tag names of SES's own, which have a colon (developer guide, "Event publishing", fine-grained feedback).
const OWN_TAGS: [&str; 2] = ["ses:feedback-id-a", "ses:feedback-id-b"];

/// What a refusal depends on besides the call.
pub(super) struct Law<'a> {
    pub(super) profile: Profile,
    pub(super) refused_senders: &'a BTreeSet<String>,
    pub(super) region: &'a str,
}

impl Law<'_> {
    /// The first thing that SES holds against the call.
    pub(super) fn refusal(&self, call: &Call) -> Option<Refusal> {
        let (header, _) = fields::split(&call.raw);
        envelope_fault(call)
            .or_else(|| parameter_fault(call))
            .or_else(|| size_fault(&call.raw))
            .or_else(|| line_fault(&call.raw))
            .or_else(|| header_fault(&header, self.profile))
            .or_else(|| sender_fault(&header, call))
            .map(Refusal::bad_request)
            .or_else(|| self.unverified(&header, call))
    }

    /// From, Sender and the return path must be verified (developer guide, "Error messages").
    fn unverified(&self, header: &[Field<'_>], call: &Call) -> Option<Refusal> {
        if self.refused_senders.is_empty() {
            return None;
        }
        let parameter = |given: &Option<String>, name: &str| match given {
            Some(text) => address::mailboxes(text),
            None => mailboxes_of(header, name),
        };
        let mut senders = parameter(&call.from_email_address, "From");
        senders.extend(mailboxes_of(header, "Sender"));
        senders.extend(parameter(&call.feedback, "Return-Path"));
        let mut failed: Vec<String> = Vec::new();
        for sender in senders {
            let refused = self.refused_senders.contains(&sender.to_ascii_lowercase());
            if refused && !failed.contains(&sender) {
                failed.push(sender);
            }
        }
        (!failed.is_empty()).then(|| {
            let message = format!(
                "Email address is not verified. The following identities failed the check in region {}: {}",
                self.region.to_ascii_uppercase(),
                failed.join(", ")
            );
            Refusal::new(400, "MessageRejected", message)
        })
    }
}

fn envelope_fault(call: &Call) -> Option<String> {
    match call.recipients().count() {
        0 => Some("Missing required header 'To'.".into()),
        count if count > RECIPIENTS => Some(format!("Recipient count exceeds {RECIPIENTS}.")),
        _ => {
            let senders = [&call.feedback, &call.from_email_address];
            let mut all = call.recipients().chain(senders.into_iter().flatten().map(String::as_str));
            all.find_map(address::parameter_fault).map(str::to_owned)
        }
    }
}

fn parameter_fault(call: &Call) -> Option<String> {
    let mut tags = call.tags.iter();
    let set = call.configuration_set.as_deref();
    tags.find_map(|(name, value)| {
        let own = OWN_TAGS.contains(&name.as_str());
        let name_fault = if own { None } else { tag_fault("name", name) };
        name_fault.or_else(|| tag_fault("value", value))
    })
    .or_else(|| {
        let name = set.filter(|name| !is_word(name) || name.len() > SET_NAME)?;
        Some(format!("Invalid configuration set name <{name}>."))
    })
}

fn tag_fault(half: &str, text: &str) -> Option<String> {
    if text.is_empty() {
        return Some(format!("The tag {half} must be specified."));
    }
    if text.len() > TAG {
        return Some(format!("Tag {half} cannot exceed {TAG} characters."));
    }
    (!is_word(text))
        .then(|| format!("Invalid tag {half} <{text}>: only alphanumeric ASCII characters, '_', and '-' are allowed."))
}

fn is_word(text: &str) -> bool {
    let known = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-');
    !text.is_empty() && text.bytes().all(known)
}

fn size_fault(message: &[u8]) -> Option<String> {
    let size = message.len();
    (size > MESSAGE).then(|| format!("Message length is more than {MESSAGE} bytes long: '{size}'."))
}

/// CR and LF only together, and lines of at most 998 octets (RFC 5322 sections 2.1.1 and 2.2).
fn line_fault(message: &[u8]) -> Option<String> {
    for (number, line) in (1..).zip(message.split_inclusive(|octet| *octet == b'\n')) {
        let complete = line.strip_suffix(b"\r\n");
        let text = complete.unwrap_or(line);
        let wrong = if complete.is_none() && line.ends_with(b"\n") {
            "ends with LF alone"
        } else if text.contains(&b'\r') {
            "has a CR without LF"
        } else if text.len() > LINE {
            "is longer than 998 octets"
        } else {
            continue;
        };
        return Some(format!("Illegal content. Line {number} {wrong}."));
    }
    None
}

fn header_fault(header: &[Field<'_>], profile: Profile) -> Option<String> {
    let mut seen = 0_u64;
    for field in header {
        let Some(written) = field.name() else {
            let line: String = String::from_utf8_lossy(field.first_line()).into();
            return Some(format!("Illegal header '{line}'."));
        };
        let name = String::from_utf8_lossy(written);
        if name.is_empty() {
            return Some("Empty header names are illegal.".into());
        }
        // ftext: printable ASCII except the colon (RFC 5322 section 3.6.8).
        let well_formed = name.bytes().all(|octet| octet.is_ascii_graphic());
        let known = profile == Profile::Today || names::allowed_in_2011(&name);
        if !well_formed || !known {
            return Some(format!("Illegal header '{name}'."));
        }
        if let Some(index) = names::once_index(&name) {
            let bit = 1 << index;
            if seen & bit != 0 {
                return Some(format!("Duplicate header '{name}'."));
            }
            seen |= bit;
        }
    }
    None
}

/// From must be there and its mailboxes well-formed, and so must a Return-Path; a FromEmailAddress stands in for From.
fn sender_fault(header: &[Field<'_>], call: &Call) -> Option<String> {
    let from = mailboxes_of(header, "From");
    if from.is_empty() && call.from_email_address.is_none() {
        return Some("Missing required header 'From'.".into());
    }
    // An empty one is the null sender.
    let mut return_path = mailboxes_of(header, "Return-Path");
    return_path.retain(|address| !address.is_empty());
    let mut all = from.into_iter().chain(return_path);
    all.find_map(|address| address::fault(&address)).map(str::to_owned)
}

fn mailboxes_of(header: &[Field<'_>], name: &str) -> Vec<String> {
    let values = header.iter().filter(|field| field.is_named(name)).map(Field::value);
    values.flat_map(|value| address::mailboxes(&value)).collect()
}
