//! The tokens of an address list (RFC 5322 section 3.2), right or wrong: together they cover the text without a gap.

use crate::header::{EncodedWord, Place};

/// Openings without an end that are searched for one; behind them a quote or parenthesis is a character like others.
/// Without such a bound a list of nothing but parentheses would take the square of its length.
const OPENINGS: usize = 16;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Blanks and controls.
    Blank,
    /// A whole comment, with its parentheses.
    Comment,
    /// A whole quoted-string, with its quotes.
    Quoted,
    /// A domain literal.
    Literal,
    /// An encoded-word that is legal or can be read.
    Encoded,
    /// Characters of an atom, or not ASCII.
    Atom,
    /// One special.
    Special(char),
}

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) text: &'a str,
}

impl Token<'_> {
    /// Whether it is that special.
    pub(super) fn is(&self, special: char) -> bool {
        self.kind == Kind::Special(special)
    }

    /// White space or a comment (RFC 5322 section 3.2.2).
    pub(super) fn is_cfws(&self) -> bool {
        matches!(self.kind, Kind::Blank | Kind::Comment)
    }

    /// Behind its last octet.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of an unfolded text.
pub(super) fn lex(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { rest: text, openings: OPENINGS, quotes: quotes(text), behind_at: false };
    let (mut tokens, mut start) = (Vec::new(), 0);
    while let Some((kind, length)) = lexer.next() {
        let Some((text, rest)) = lexer.rest.split_at_checked(length) else { break };
        tokens.push(Token { kind, start, text });
        start += length;
        lexer.rest = rest;
        if kind != Kind::Blank {
            lexer.behind_at = kind == Kind::Special('@');
        }
    }
    tokens
}

/// The text of a quoted-string or a comment without its marks and escapes.
pub(super) fn content(text: &str) -> String {
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut content = String::with_capacity(inside.len());
    let mut escaped = false;
    for one in inside.chars() {
        if one == '\\' && !escaped {
            escaped = true;
        } else {
            content.push(one);
            escaped = false;
        }
    }
    content
}

/// What stands between the angle brackets with which the tokens begin, and how many tokens that are. Doubled brackets
/// count as one; a bracket that is not closed before the next one opens ends at the next comma or semicolon.
pub(super) fn angle<'t, 'a>(tokens: &'t [Token<'a>]) -> (&'t [Token<'a>], usize) {
    let open = run_of('<', tokens);
    let inner = tokens.get(open..).unwrap_or_default();
    let closed = inner
        .iter()
        .position(|token| token.is('>') || token.is('<'))
        .filter(|at| inner.get(*at).is_some_and(|token| token.is('>')));
    let end = closed.or_else(|| inner.iter().position(|token| [',', ';', '<'].into_iter().any(|one| token.is(one))));
    let end = end.unwrap_or(inner.len());
    let (inside, rest) = inner.split_at_checked(end).unwrap_or((inner, &[]));
    (inside, open + end + run_of('>', rest))
}

/// How many tokens stand up to the last of the brackets that they begin with.
fn run_of(bracket: char, tokens: &[Token<'_>]) -> usize {
    let run = tokens.iter().take_while(|token| token.is(bracket) || token.kind == Kind::Blank);
    let run: Vec<bool> = run.map(|token| token.is(bracket)).collect();
    run.iter().rposition(|is_bracket| *is_bracket).map_or(0, |last| last + 1)
}

pub(super) fn is_blank(one: char) -> bool {
    one == ' ' || one.is_control()
}

pub(super) fn is_special(one: char) -> bool {
    matches!(one, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '.' | '"')
}

struct Lexer<'a> {
    rest: &'a str,
    openings: usize,
    /// Quotes that are still to come.
    quotes: usize,
    behind_at: bool,
}

impl<'a> Lexer<'a> {
    /// The kind and length of the next token.
    fn next(&mut self) -> Option<(Kind, usize)> {
        let first = self.rest.chars().next()?;
        let token = match first {
            one if is_blank(one) => (Kind::Blank, self.rest.find(|one| !is_blank(one)).unwrap_or(self.rest.len())),
            '(' => self.delimited(Kind::Comment, '('),
            '"' => self.quoted(),
            '[' => self.literal(),
            one if is_special(one) => (Kind::Special(one), one.len_utf8()),
            _ => match word_at(self.rest) {
                Some(word) => (Kind::Encoded, word.source().len()),
                None => (Kind::Atom, self.atom()),
            },
        };
        Some(token)
    }

    fn atom(&self) -> usize {
        let ends = |(at, one): &(usize, char)| {
            is_blank(*one)
                || is_special(*one)
                || *one == '=' && *at > 0 && self.rest.get(*at..).and_then(word_at).is_some()
        };
        self.rest.char_indices().find(ends).map_or(self.rest.len(), |(at, _)| at)
    }

    /// A quoted-string. A quote without a partner would pair with the next mailbox's: where an odd number of them
    /// is left and an address stands between two, the first is a stray one.
    fn quoted(&mut self) -> (Kind, usize) {
        let token = self.delimited(Kind::Quoted, '"');
        let inside = self.rest.get(..token.1).unwrap_or_default();
        let left = self.quotes.saturating_sub(quotes(inside));
        if token.0 == Kind::Quoted && inside.contains('@') && left % 2 == 1 {
            self.quotes = self.quotes.saturating_sub(1);
            return (Kind::Special('"'), 1);
        }
        self.quotes = left;
        token
    }

    /// What begins with an opening: as a whole if it ends somewhere, else the opening as a special.
    fn delimited(&mut self, kind: Kind, opening: char) -> (Kind, usize) {
        let length = if self.openings > 0 { delimited(self.rest, opening) } else { None };
        self.openings -= usize::from(length.is_none() && self.openings > 0);
        length.map_or((Kind::Special(opening), 1), |length| (kind, length))
    }

    fn literal(&self) -> (Kind, usize) {
        let inside = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | ':' | '-');
        let end = self.rest.char_indices().skip(1).find(|(_, one)| !inside(*one));
        match end {
            Some((at, ']')) if self.behind_at => (Kind::Literal, at + 1),
            _ => (Kind::Special('['), 1),
        }
    }
}

/// The encoded-word that a text begins with, if it is legal or can be read.
fn word_at(text: &str) -> Option<EncodedWord<'_>> {
    EncodedWord::at_start(text).filter(|word| word.is_word(Place::Phrase))
}

/// The length of a quoted-string, or of a comment with those in it.
fn delimited(text: &str, opening: char) -> Option<usize> {
    let closing = if opening == '(' { ')' } else { opening };
    let (mut depth, mut escaped) = (0, false);
    for (at, one) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if one == '\\' {
            escaped = true;
        } else if one == closing && at > 0 {
            depth -= 1;
            if depth == 0 {
                return Some(at + closing.len_utf8());
            }
        } else if one == opening {
            depth += 1;
        }
    }
    None
}

/// The quotes of a text that no backslash takes away.
fn quotes(text: &str) -> usize {
    let (mut count, mut escaped) = (0, false);
    if memchr::memchr(b'"', text.as_bytes()).is_none() {
        return 0;
    }
    for octet in text.bytes() {
        count += usize::from(octet == b'"' && !escaped);
        escaped = octet == b'\\' && !escaped;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let tokens = lex(text);
        assert_eq!(tokens.iter().map(|token| token.text).collect::<String>(), text);
        let letter = |token: &Token<'_>| match token.kind {
            Kind::Blank => '_',
            Kind::Comment => 'c',
            Kind::Quoted => 'q',
            Kind::Literal => 'l',
            Kind::Encoded => 'e',
            Kind::Atom => 'a',
            Kind::Special(one) => one,
        };
        tokens.iter().map(letter).collect()
    }

    #[test]
    fn tokens() {
        assert_eq!(kinds("\"a, b\" (c (d)) <e.f@[IPv6:::1]>"), "q_c_<a.a@l>");
        assert_eq!(kinds("[x] a\t\u{0} b"), "[a]_a_a");
        assert_eq!(kinds("=?utf-8?q?a,_=C3=A9?= =?utf-8?q?b?=,x=?utf-8?q?b?=y"), "e_e,aea");
        assert_eq!(kinds("=?x-none?q?=ff,?= =?x-none?q?=ff?= =?a?b"), "a,a_e_a");
        assert_eq!(kinds("(a \"b \\\" ("), "(a_\"a_\\\"_(");
        assert_eq!(kinds("\"A <a@b>, \"B\" <c@d>"), "\"a_<a@a>,_q_<a@a>");
        assert_eq!(content("\"a \\\" \\\\ b\""), "a \" \\ b");
    }

    #[test]
    fn many_openings_take_no_square_of_their_number() {
        for opening in ["(", "\"", "=?a?q?", "[", "<", "\\\""] {
            assert!(!lex(&opening.repeat(100_000)).is_empty());
        }
    }
}
