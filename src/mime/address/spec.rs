//! An address out of tokens that may hold more than it should.

use super::{
    strict::{is_domain, is_dot_atom, is_invisible},
    token::{Kind, Token, content},
};
use crate::header::EncodedWord;

/// What tokens turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Addresses, in the form of RFC 5322 section 3.4.1.
    Whole(Vec<String>),
    /// A local part alone.
    Local(String),
}

/// Reads what stands between angle brackets, or instead of them.
pub(super) fn find(tokens: &[Token<'_>]) -> Option<Found> {
    let flat = flat(tokens)?;
    let has_route = flat.starts_with('@');
    let parts: Vec<&str> = if has_route { vec![&flat] } else { outside_quotes(&flat) };
    if let [part] = parts.as_slice() {
        return one(part);
    }
    let whole = parts.iter().filter(|part| !part.is_empty()).map(|part| match one(part)? {
        Found::Whole(addresses) => addresses.into_iter().next(),
        Found::Local(_) => None,
    });
    whole.collect::<Option<Vec<String>>>().filter(|addresses| !addresses.is_empty()).map(Found::Whole)
}

fn one(text: &str) -> Option<Found> {
    let text = bare(text);
    let Some((local, domain)) = text.rsplit_once('@') else {
        return (text.is_ascii() && is_dot_atom(text)).then(|| Found::Local(text.to_owned()));
    };
    let domain = domain.trim_end_matches('.');
    let (local, domain) = match domain.strip_suffix('\'') {
        Some(domain) => (local.strip_prefix('\'').unwrap_or(local), domain),
        None => (local, domain),
    };
    let address = format!("{}@{domain}", local_part(local)?);
    is_domain(domain).then(|| Found::Whole(vec![address]))
}

/// Without the marks that people put around an address, a scheme, and a route (RFC 5322 section 4.4).
fn bare(text: &str) -> &str {
    let mut text = text.trim_matches(is_invisible);
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        text = inside;
    }
    for scheme in ["mailto:", "smtp:"] {
        let (start, rest) = text.split_at_checked(scheme.len()).unwrap_or(("", text));
        if start.eq_ignore_ascii_case(scheme) {
            text = rest;
        }
    }
    if text.starts_with('@') {
        text = text.split_once(':').map_or(text, |(_, rest)| rest);
    }
    text.trim_matches(is_invisible)
}

/// A local part as RFC 5322 has it: dots in the wrong places need quotes (`a..b` of some Japanese carriers).
fn local_part(local: &str) -> Option<String> {
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    if quoted || is_dot_atom(local) {
        return Some(local.to_owned());
    }
    let atoms: String = local.chars().filter(|one| *one != '.').collect();
    is_dot_atom(&atoms).then(|| format!("\"{local}\""))
}

/// The tokens without comments and without the blanks that RFC 5322 section 4.4 allows: around `@`, dots, commas and
/// colons, and at both ends. `None` if others are there.
fn flat(tokens: &[Token<'_>]) -> Option<String> {
    let words = || tokens.iter().filter(|token| !token.is_cfws());
    if let (Some(one), 1) = (words().next(), words().count())
        && one.kind == Kind::Quoted
    {
        return Some(content(one.text)).filter(|text| !text.contains(['"', '\\', ' ', '\t', '\r', '\n']));
    }
    let soft = |one: char| "@.,:".contains(one);
    let (mut flat, mut blank) = (String::new(), false);
    for token in tokens {
        if token.is_cfws() {
            blank = true;
            continue;
        }
        let decoded = (token.kind == Kind::Encoded).then(|| EncodedWord::at_start(token.text)?.text()).flatten();
        let text = decoded.as_deref().map_or(token.text, str::trim);
        if blank && !flat.is_empty() && !flat.ends_with(soft) && !text.starts_with(soft) {
            return None;
        }
        if token.kind == Kind::Quoted && token.text.contains(char::is_control) {
            return None;
        }
        flat.push_str(text);
        blank = false;
    }
    Some(flat)
}

/// The parts between commas, less those within quotes.
fn outside_quotes(flat: &str) -> Vec<&str> {
    let mut quoted = false;
    let splits = |one: char| {
        quoted ^= one == '"';
        one == ',' && !quoted
    };
    flat.split(splits).map(str::trim).collect()
}
