//! Lines in a header that are no fields: what each of them is likely to be.

use std::collections::BTreeSet;

use crate::header::{FieldName, Header};

/// What a stray line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// The first line of the body, whose empty line is missing before it.
    Body,
    /// The rest of the field before it, folded without white space.
    Fold,
    /// A field whose name is not legal, and a legal one like it.
    Named(FieldName),
    /// A line that belongs nowhere; it is kept under a name of ours.
    Kept,
    /// Nothing that could be kept: a line without a name.
    Nameless,
}

/// Names that stand in a header and hardly at the start of a sentence.
const KNOWN: &[&str] = &[
    "from",
    "to",
    "cc",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
    "received",
    "return-path",
    "reply-to",
    "sender",
    "in-reply-to",
    "references",
    "user-agent",
    "dkim-signature",
    "list-id",
    "list-unsubscribe",
    "precedence",
    "auto-submitted",
];
/// Characters and words that a name may have and still be taken for one.
const LABEL: usize = 40;
const WORDS: usize = 3;

/// Looks at the stray line at a position.
pub(super) fn classify(header: &Header, at: usize, has_body: bool) -> Stray {
    let whole = header.whole(at);
    let line = whole.split(|octet| matches!(octet, b'\r' | b'\n')).next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with(':') {
        return Stray::Nameless;
    }
    let before = header.positions().take_while(|position| *position < at).last();
    let open = before.is_some_and(|before| header.raw(before).trim_ascii_end().ends_with(b";"));
    if open && is_parameter(trimmed) {
        return Stray::Fold;
    }
    let named = named(trimmed);
    if !is_traced(header, at) {
        let goes_on = goes_on(header, at, has_body);
        if begins_body(trimmed) || !goes_on && (named.is_none() || !has_body) {
            return Stray::Body;
        }
    }
    match (named, before) {
        (Some(name), _) => Stray::Named(name),
        (None, Some(before)) if is_text(header.name(before)) => Stray::Fold,
        (None, _) => Stray::Kept,
    }
}

/// Fields whose value is text, so that a line more does no harm (RFC 5322 section 3.6.5).
fn is_text(name: Option<&str>) -> bool {
    name.is_some_and(|name| ["subject", "comments", "organization"].contains(&name.to_ascii_lowercase().as_str()))
}

/// `boundary="b"`, the rest of a field that ends in a semicolon (RFC 2045 section 5.1).
pub(super) fn is_parameter(text: &str) -> bool {
    let attribute = text.split_once('=').map_or("", |(attribute, _)| attribute.trim_end());
    !attribute.is_empty()
        && attribute.bytes().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'*'))
}

/// Whether a line is a delimiter or a tag, which stand in no header.
fn begins_body(line: &str) -> bool {
    line.starts_with("--") || line.starts_with('<')
}

/// Whether a Received follows. Wherever it stands it stays in the header: as a line of the body it would be lost to
/// whoever counts hops (RFC 5321 section 6.3), so that a message could loop.
fn is_traced(header: &Header, at: usize) -> bool {
    header.find("Received").any(|position| position > at)
}

/// Whether a field follows that tells that the header has not ended yet; what stands behind the body's first line is none.
///
/// Where no empty line follows at all, everything looks like a header, a letter that quotes one too. Then a second
/// Subject tells nothing, and a field does that was still missing.
fn goes_on(header: &Header, at: usize, has_body: bool) -> bool {
    let later = header.positions().filter(|position| *position > at);
    let ends = |position: &usize| {
        let whole = header.whole(*position);
        let line = whole.split(|octet| matches!(octet, b'\r' | b'\n')).next().unwrap_or_default();
        whole.starts_with(b"--")
            || header.name(*position).is_none() && begins_body(String::from_utf8_lossy(line).trim())
    };
    let known = |position: usize| {
        let name = header.name(position)?;
        KNOWN.iter().find(|known| known.eq_ignore_ascii_case(name))
    };
    let before = header.positions().take_while(|position| *position < at && !has_body);
    let had: BTreeSet<_> = before.filter_map(known).collect();
    later.take_while(|position| !ends(position)).filter_map(known).any(|name| !had.contains(name))
}

/// `Foo Bar: baz` and `Größe: 3` are fields with a wrong name; a sentence with a colon in it is not.
fn named(text: &str) -> Option<FieldName> {
    let (label, _) = text.split_once(':')?;
    let label = label.trim();
    let fits = |one: char| one.is_alphanumeric() || matches!(one, ' ' | '_' | '-' | '.');
    if label.is_empty() || label.chars().count() > LABEL || !label.chars().all(fits) || label.split(' ').count() > WORDS
    {
        return None;
    }
    let legal = |one: char| if one.is_ascii_alphanumeric() || matches!(one, '_' | '.') { one } else { '-' };
    let legal: String = label.chars().map(legal).collect();
    let prefixed = legal.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("X-"));
    FieldName::parse(&if prefixed { legal } else { format!("X-{legal}") }).ok()
}
