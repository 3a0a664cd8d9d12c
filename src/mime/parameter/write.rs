//! Writing down what the tolerant reader understood.

use super::{
    Grammar, Parameter, Value, check,
    extended::{self, SectionName},
    is_file_name,
    lex::is_token,
    words,
};
use crate::header;

/// Characters a line should not exceed (RFC 5322 section 2.1.1).
const PREFERRED: usize = 78;

/// What is to become of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mend {
    /// It stays as it is: it is right, or cannot be put right without damage.
    Keep,
    /// It is written so, name and final CRLF included.
    Write(String),
    /// It says nothing and goes.
    Drop,
}

/// Mends the field of that name; a value that the grammar allows stays.
///
/// The boundary keeps its octets, since the body holds it too; where they could not be written, the field is kept.
pub fn mend(grammar: Grammar, name: &str, value: &[u8]) -> Mend {
    if check(grammar, value).is_ok() {
        return Mend::Keep;
    }
    let read = Value::read(grammar, value);
    let boundary = read.parameter("boundary");
    if !read.complete || !boundary.is_none_or(is_plain) || !read.sections("boundary").is_empty() {
        return Mend::Keep;
    }
    let parameters = parameters(&read);
    let first = match &read.first {
        Some(first) => first.as_str(),
        None if parameters.is_empty() => return Mend::Drop,
        None => "attachment",
    };
    let field = field(name, first, &parameters);
    let written = field.get(name.len() + 1..).unwrap_or_default().as_bytes();
    let sound = check(grammar, written).is_ok() && Value::read(grammar, written).boundary() == read.boundary();
    if sound { Mend::Write(field) } else { Mend::Keep }
}

/// The field, folded between parameters only.
fn field(name: &str, first: &str, parameters: &[String]) -> String {
    let mut field = format!("{name}: {first}");
    let mut column = field.len();
    for parameter in parameters {
        let fits = column + "; ".len() + parameter.len() < PREFERRED;
        field.push_str(if fits { "; " } else { ";\r\n " });
        field.push_str(parameter);
        column = if fits { column + 2 } else { 1 } + parameter.len();
    }
    field.push_str("\r\n");
    field
}

/// The parameters as they are to stand, each name once.
fn parameters(value: &Value) -> Vec<String> {
    let mut written: Vec<(String, String)> = Vec::new();
    for parameter in &value.parameters {
        let Some((name, text)) = as_written(value, parameter) else { continue };
        if !written.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            written.push((name, text));
        }
    }
    written.into_iter().map(|(name, text)| format!("{name}={text}")).collect()
}

/// Name and value of a parameter as they are to stand.
fn as_written(value: &Value, parameter: &Parameter) -> Option<(String, String)> {
    let name = parameter.name.as_str();
    let Some((base, _)) = name.split_once('*') else { return plain(value, parameter) };
    if value.parameters.iter().any(|other| is_faulty(other, base)) {
        let sections = value.sections(base);
        let text =
            if sections.is_empty() { header::text(&parameter.octets).into_owned() } else { extended::join(sections) };
        let decoded = if is_file_name(base) { words::decode(text.as_bytes()) } else { None };
        return (!base.is_empty()).then(|| encoded(base, &decoded.unwrap_or(text)));
    }
    let quoted = || quoted(&parameter.octets);
    Some((name.to_owned(), parameter.written.clone().unwrap_or_else(quoted)))
}

/// Whether a parameter is a section of that name and not written as RFC 2231 wants it.
fn is_faulty(parameter: &Parameter, base: &str) -> bool {
    let mine = parameter.name.split_once('*').is_some_and(|(name, _)| name.eq_ignore_ascii_case(base));
    let right = SectionName::parse(&parameter.name).is_some_and(|section| {
        let written = parameter.written.as_deref().unwrap_or_default().as_bytes();
        if section.extended {
            extended::is_valid(section, written) && !written.is_empty()
        } else {
            is_plain(&parameter.octets)
        }
    });
    mine && !right
}

/// A parameter without stars.
fn plain(value: &Value, parameter: &Parameter) -> Option<(String, String)> {
    let name = parameter.name.as_str();
    let decoded = if is_file_name(name) { words::decode(&parameter.octets) } else { None };
    match (decoded, &parameter.written) {
        (None, Some(written)) => Some((name.to_owned(), written.clone())),
        (decoded, _) => {
            let text = decoded.unwrap_or_else(|| header::text(&parameter.octets).into_owned());
            // The sender gave the same text a second time, in a form that may stay.
            let twice = !is_plain(text.as_bytes()) && !value.sections(name).is_empty();
            (!twice).then(|| encoded(name, &text))
        }
    }
}

/// Name and value for a text: a token, a quoted string, or what RFC 2231 has for the rest.
fn encoded(name: &str, text: &str) -> (String, String) {
    let text: String = text.chars().filter(|one| !one.is_control()).collect();
    if !text.is_ascii() {
        (format!("{name}*"), extended::encode(&text))
    } else if !text.is_empty() && text.bytes().all(is_token) {
        (name.to_owned(), text)
    } else {
        (name.to_owned(), quoted(text.as_bytes()))
    }
}

/// A quoted string of printable octets.
fn quoted(octets: &[u8]) -> String {
    let mut text = "\"".to_owned();
    for octet in octets {
        if matches!(octet, b'"' | b'\\') {
            text.push('\\');
        }
        text.push(char::from(*octet));
    }
    text.push('"');
    text
}

/// Whether octets are printable ASCII.
fn is_plain(octets: &[u8]) -> bool {
    octets.iter().all(|octet| octet.is_ascii_graphic() || matches!(octet, b' ' | b'\t'))
}
