//! The strict reader: whether a value is what the grammar allows, and what is wrong first if it is not.

use std::collections::HashSet;

use super::{
    Grammar,
    extended::{self, SectionName},
    is_file_name,
    lex::{Lexer, Open},
    words,
};

/// What the grammar does not allow; the words are those of SES where it was seen to say them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// No type or disposition at the beginning.
    #[error("Expected {0}, got {1}")]
    First(&'static str, String),
    /// No `/` behind the type.
    #[error("Expected '/', got {0}")]
    Slash(String),
    /// No `;` before the next parameter.
    #[error("Expected ';', got {0}")]
    Semicolon(String),
    /// No `=` behind the name of a parameter.
    #[error("Expected '=', got {0}")]
    Equals(String),
    /// A `;` without a parameter behind it.
    #[error("a ';' without a parameter behind it")]
    Empty,
    /// Something else than the name of a parameter.
    #[error("Expected a parameter, got {0}")]
    Name(String),
    /// No value behind `=`.
    #[error("Expected a value, got {0}")]
    Value(String),
    /// A quoted string or a comment that does not end.
    #[error("a quoted string or comment does not end")]
    Open,
    /// Octets that are no printable ASCII.
    #[error("octets that are not printable ASCII")]
    NotAscii,
    /// A parameter for the second time.
    #[error("the parameter {0} stands there twice")]
    Twice(String),
    /// A `name*` that is not written as RFC 2231 wants it.
    #[error("the parameter {0} is not written as RFC 2231 section 4 wants it")]
    Extended(String),
    /// An encoded-word in a file name.
    #[error("the parameter {0} holds an encoded-word (RFC 2047 section 5)")]
    EncodedWord(String),
}

impl From<Open> for Fault {
    fn from(_: Open) -> Self {
        Self::Open
    }
}

/// Checks a value against RFC 2045 section 5.1, RFC 2183 section 2 and RFC 2231; it may be folded and hold comments.
///
/// # Errors
/// What is wrong first.
pub fn check(grammar: Grammar, value: &[u8]) -> Result<(), Fault> {
    let mut lexer = Lexer::new(value);
    lexer.space()?;
    first(grammar, &mut lexer)?;
    let mut seen = HashSet::new();
    loop {
        lexer.space()?;
        if lexer.peek().is_none() {
            break;
        }
        if !lexer.eat(b';') {
            return Err(Fault::Semicolon(got(lexer)));
        }
        let name = parameter(&mut lexer)?;
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(Fault::Twice(name));
        }
    }
    let printable = |octet: &u8| octet.is_ascii_graphic() || super::lex::is_blank(*octet);
    if value.iter().all(printable) { Ok(()) } else { Err(Fault::NotAscii) }
}

fn first(grammar: Grammar, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
    let wanted = |what: &'static str, lexer: &mut Lexer<'_>| {
        lexer.space()?;
        if lexer.token().is_empty() { Err(Fault::First(what, got(*lexer))) } else { Ok(()) }
    };
    match grammar {
        Grammar::Disposition => wanted("disposition", lexer),
        Grammar::Type => {
            wanted("type", lexer)?;
            lexer.space()?;
            if !lexer.eat(b'/') {
                return Err(Fault::Slash(got(*lexer)));
            }
            wanted("subtype", lexer)
        }
    }
}

/// Reads one parameter and gives its name.
fn parameter(lexer: &mut Lexer<'_>) -> Result<String, Fault> {
    lexer.space()?;
    if matches!(lexer.peek(), None | Some(b';')) {
        return Err(Fault::Empty);
    }
    let name = String::from_utf8_lossy(lexer.token()).into_owned();
    if name.is_empty() {
        return Err(Fault::Name(got(*lexer)));
    }
    lexer.space()?;
    if !lexer.eat(b'=') {
        return Err(Fault::Equals(got(*lexer)));
    }
    lexer.space()?;
    let quoted = lexer.peek() == Some(b'"');
    let value = if quoted { lexer.quoted()? } else { lexer.token() };
    if value.is_empty() {
        return Err(Fault::Value(got(*lexer)));
    }
    let section = SectionName::parse(&name);
    if name.contains('*') && section.is_none_or(|section| section.extended && !extended::is_valid(section, value)) {
        return Err(Fault::Extended(name));
    }
    let inside = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    if is_file_name(&name) && inside.is_some_and(|inside| words::decode(inside).is_some()) {
        return Err(Fault::EncodedWord(name));
    }
    Ok(name)
}

/// What stands there instead, as SES names it.
fn got(mut lexer: Lexer<'_>) -> String {
    match (lexer.peek(), lexer.token()) {
        (None, _) => "null".to_owned(),
        (Some(octet), b"") => format!("\"{}\"", octet.escape_ascii()),
        (_, token) => format!("\"{}\"", token.get(..60).unwrap_or(token).escape_ascii()),
    }
}
