//! The tolerant reader: what a mailer meant.

use std::borrow::Cow;

use super::{
    Grammar, MAX, Parameter, Value,
    lex::{Lexer, is_token},
};
use crate::header;

/// The types of RFC 2045 section 5.1 and their like, for telling a type from a parameter.
const TYPES: &[&str] =
    &["text", "multipart", "message", "application", "image", "audio", "video", "font", "model", "chemical"];
/// Parameters whose value is one word, so that a blank ends it.
const ONE_WORD: &[&str] = &["charset", "format", "delsp", "micalg", "report-type", "reply-type", "method", "size"];
/// Parameters that a value is likely to be followed by when the `;` between them is missing.
const KNOWN: &[&str] = &[
    "boundary",
    "charset",
    "creation-date",
    "delsp",
    "filename",
    "format",
    "method",
    "micalg",
    "modification-date",
    "name",
    "protocol",
    "read-date",
    "report-type",
    "size",
    "start",
    "start-info",
    "type",
];

pub(super) fn read(grammar: Grammar, value: &[u8]) -> Value {
    let text = unwrapped(value);
    let mut reader = Reader { lexer: Lexer::new(&text), open_comment: false, open_quote: false };
    let first = match grammar {
        Grammar::Type => reader.media_type(),
        Grammar::Disposition => reader.disposition(),
    };
    let (parameters, complete) = reader.parameters();
    let mut value = Value { first, parameters, complete };
    if grammar == Grammar::Type && value.first.is_none() {
        value.first = Some(default_type(&value).to_owned());
    }
    value
}

/// The value without folding, and out of the quotes or encoded-words that some put around the whole of it.
fn unwrapped(value: &[u8]) -> Cow<'_, [u8]> {
    let unfolded: Vec<u8> = value.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
    let trimmed = unfolded.trim_ascii();
    if trimmed.starts_with(b"=?") {
        return Cow::Owned(header::decode(trimmed).into_bytes());
    }
    match trimmed.strip_prefix(b"\"") {
        Some(inside) => {
            let mut pieces = inside.splitn(2, |octet| *octet == b'"');
            Cow::Owned([pieces.next().unwrap_or_default(), pieces.next().unwrap_or_default()].concat())
        }
        None => Cow::Owned(trimmed.to_vec()),
    }
}

/// What a Content-Type without a type is: RFC 2045 section 5.2 has text/plain, unless a parameter says more.
fn default_type(value: &Value) -> &'static str {
    if value.boundary().is_some() {
        "multipart/mixed"
    } else if value.file_name().is_some() {
        "application/octet-stream"
    } else {
        "text/plain"
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    /// Whether a comment was found not to end, and `(` is no more than an octet since.
    open_comment: bool,
    /// Whether a quoted string was found not to end; then no later one does.
    open_quote: bool,
}

impl<'a> Reader<'a> {
    /// White space and comments.
    fn space(&mut self) {
        if self.open_comment {
            self.lexer.blanks();
        } else {
            self.open_comment = self.lexer.space().is_err();
        }
    }

    /// Octets that have no business at the beginning.
    fn junk(&mut self) {
        self.space();
        while [b':', b'=', b','].iter().any(|octet| self.lexer.eat(*octet)) {
            self.space();
        }
    }

    fn word(&mut self) -> String {
        String::from_utf8_lossy(self.lexer.token()).into_owned()
    }

    fn media_type(&mut self) -> Option<String> {
        self.junk();
        let start = self.lexer;
        let first = self.word();
        let known = TYPES.contains(&first.to_ascii_lowercase().as_str());
        self.space();
        let separator = self.lexer.peek();
        if first.is_empty() {
            return None;
        } else if separator == Some(b'/') || known && matches!(separator, Some(b'=' | b':')) {
            let before = self.lexer;
            self.lexer.at += 1;
            self.space();
            let subtype = self.word();
            self.space();
            if separator == Some(b'/') || !subtype.is_empty() && self.lexer.peek() != Some(b'=') {
                return if subtype.is_empty() { lone_type(&first) } else { Some(format!("{first}/{subtype}")) };
            }
            self.lexer = before;
        } else if separator == Some(b'=') {
            self.lexer = start;
            return None;
        }
        lone_type(&first)
    }

    fn disposition(&mut self) -> Option<String> {
        self.junk();
        let start = self.lexer;
        let first = self.word();
        self.space();
        let known = ["attachment", "inline"].iter().any(|known| first.eq_ignore_ascii_case(known));
        if !known && self.lexer.peek() == Some(b'=') {
            self.lexer = start;
            return None;
        }
        Some(first).filter(|first| !first.is_empty())
    }

    /// All parameters, and whether these are all.
    fn parameters(&mut self) -> (Vec<Parameter>, bool) {
        let mut found: Vec<Parameter> = Vec::new();
        loop {
            self.space();
            if self.lexer.peek().is_none() || found.len() == MAX {
                return (found, self.lexer.peek().is_none());
            }
            let name = self.word();
            if name.is_empty() {
                self.lexer.at += 1;
                continue;
            }
            self.space();
            if self.lexer.eat(b'=') || self.lexer.eat(b':') {
                if self.lexer.rest().starts_with(b"=") && !self.lexer.rest().starts_with(b"=?") {
                    self.lexer.at += 1;
                }
                self.space();
                let (octets, written) = self.value(&name);
                if written.is_some() || !octets.is_empty() {
                    found.push(Parameter { name, octets, written });
                }
            }
        }
    }

    /// A value, and its form if that may stay.
    fn value(&mut self, name: &str) -> (Vec<u8>, Option<String>) {
        let start = self.lexer;
        if self.lexer.peek() == Some(b'"') {
            let quoted = if self.open_quote { None } else { self.quoted() };
            if let Some(quoted) = quoted {
                return quoted;
            }
            (self.open_quote, self.lexer.at) = (true, self.lexer.at + 1);
        } else {
            let token = self.lexer.token();
            self.space();
            if !token.is_empty() && matches!(self.lexer.peek(), None | Some(b';')) {
                return (token.to_vec(), Some(String::from_utf8_lossy(token).into_owned()));
            }
            self.lexer = start;
        }
        (self.loose(name), None)
    }

    /// A quoted string whose closing quote is the first that can be one; quotes before it belong to the text.
    fn quoted(&mut self) -> Option<(Vec<u8>, Option<String>)> {
        let rest = self.lexer.rest();
        let (mut octets, mut proper, mut at) = (Vec::new(), true, 1);
        while let Some(octet) = rest.get(at) {
            match octet {
                b'\\' if rest.get(at + 1).is_some() => {
                    octets.extend(rest.get(at + 1));
                    at += 1;
                }
                b'"' if closes(rest.get(at + 1..).unwrap_or_default()) => {
                    self.lexer.at += at + 1;
                    let whole = rest.get(..=at).unwrap_or_default();
                    let printable = whole.iter().all(|octet| octet.is_ascii_graphic() || matches!(octet, b' ' | b'\t'));
                    let written = String::from_utf8_lossy(whole).into_owned();
                    return Some((octets, (proper && printable).then_some(written)));
                }
                _ => {
                    proper &= *octet != b'"';
                    octets.push(*octet);
                }
            }
            at += 1;
        }
        None
    }

    /// A value without quotes, or without the closing one: up to the `;` or to what must be the next parameter.
    fn loose(&mut self, name: &str) -> Vec<u8> {
        let rest = self.lexer.rest();
        let one_word = ONE_WORD.contains(&name.to_ascii_lowercase().as_str());
        let mut before = b';';
        let ends = |(at, octet): (usize, &u8)| {
            let begins_gap = is_gap(*octet) && !is_gap(before);
            before = *octet;
            let rest = rest.get(at..).unwrap_or_default();
            *octet == b';' || one_word && (is_gap(*octet) || !is_token(*octet)) || begins_gap && next_is_known(rest)
        };
        let end = rest.iter().enumerate().position(ends).unwrap_or(rest.len());
        self.lexer.at += end;
        let value = rest.get(..end).unwrap_or_default().trim_ascii();
        value.strip_suffix(b"\"").unwrap_or(value).to_vec()
    }
}

/// A type without a subtype.
fn lone_type(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let full = match lower.as_str() {
        "text" | "plain" => "text/plain",
        "html" => "text/html",
        "multipart" => "multipart/mixed",
        known if TYPES.contains(&known) => "application/octet-stream",
        _ => return None,
    };
    Some(full.to_owned())
}

fn is_gap(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b',')
}

/// Whether a quote before these octets can be the closing one: a `;`, a comment, the end or the next parameter follows.
fn closes(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    matches!(after.first(), None | Some(b';' | b'(')) || next_name(after).is_some()
}

/// Whether gaps and then the name of a known parameter stand here.
fn next_is_known(octets: &[u8]) -> bool {
    let Some(name) = next_name(octets) else { return false };
    let lower = name.to_ascii_lowercase();
    KNOWN.iter().any(|known| known.as_bytes() == lower) || lower.contains(&b'*')
}

/// The name that stands here behind gaps and before `=`.
fn next_name(octets: &[u8]) -> Option<&[u8]> {
    let mut lexer = Lexer::new(octets);
    while lexer.peek().is_some_and(is_gap) {
        lexer.at += 1;
    }
    let name = lexer.token();
    lexer.blanks();
    (!name.is_empty() && lexer.peek() == Some(b'=')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{super::is_file_name, *};

    #[test]
    fn the_tables_are_sound() {
        assert!(KNOWN.is_sorted() && ONE_WORD.iter().all(|name| !is_file_name(name)));
    }
}
