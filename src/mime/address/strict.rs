//! The strict reader: RFC 5322 section 3.4 without the obsolete forms of section 4.4, and what SES asks beyond it.
//!
//! Blanks and comments around the `@` or inside angle brackets are legal there ("SHOULD NOT") and a fault here.

use super::{
    Fault, Flaw,
    token::{Kind, Token, content, is_blank, is_special, lex},
};
use crate::{
    header::{EncodedWord, Piece, Place, mend_unstructured, settled_words},
    mail::Address,
};

/// Which letters a list may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Letters {
    /// RFC 5322.
    Ascii,
    /// RFC 6532: UTF-8 in names, comments, local parts and domains too.
    Utf8,
}

/// An address in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec<'a> {
    /// Before the `@`, with its quotes if it has any.
    pub local: &'a str,
    /// Behind the `@`.
    pub domain: &'a str,
    /// Where the domain begins in the list.
    pub domain_start: usize,
}

/// The addresses of an unfolded list, those in groups too.
///
/// # Errors
/// The first fault that a strict parser would find.
pub fn check(list: &str, letters: Letters) -> Result<Vec<Spec<'_>>, Flaw<'_>> {
    let tokens = lex(list);
    let is_nothing = |token: &Token<'_>| token.is_cfws() || token.is(',');
    if tokens.iter().all(is_nothing) {
        return Err(Flaw { fault: Fault::Empty, near: list.trim() });
    }
    let mut parser = Parser { list, tokens: &tokens, at: 0, letters, specs: Vec::new() };
    loop {
        let start = parser.at;
        if let Err(fault) = parser.entry() {
            let mut until_comma = tokens.get(start..).unwrap_or_default().split(|token| token.is(','));
            return Err(Flaw { fault, near: near(list, until_comma.next().unwrap_or_default()) });
        }
        if !parser.take(',') {
            return Ok(parser.specs);
        }
    }
}

/// The addresses of an unfolded list, and all its faults: of one address the first, and the first behind its `<`.
pub fn survey(list: &str, letters: Letters) -> (Vec<Spec<'_>>, Vec<Flaw<'_>>) {
    match check(list, letters) {
        Ok(specs) => return (specs, Vec::new()),
        Err(flaw) if flaw.fault == Fault::Empty => return (Vec::new(), vec![flaw]),
        Err(_) => {}
    }
    let tokens = lex(list);
    let mut parser = Parser { list, tokens: &tokens, at: 0, letters, specs: Vec::new() };
    let (mut flaws, mut comma) = (Vec::new(), 0);
    loop {
        let start = parser.at;
        if let Err(fault) = parser.entry() {
            // Faults come in their order, so that the search for a comma goes on where the last one ended.
            comma = comma.max(start);
            comma += tokens.iter().skip(comma).take_while(|token| !token.is(',')).count();
            flaws.push(Flaw { fault, near: near(list, tokens.get(start..comma).unwrap_or_default()) });
            let resumes = |token: &Token<'_>| [',', ';', '<'].iter().any(|special| token.is(*special));
            // An empty place fails at the separator behind it, which parts it from the next address.
            let separated = parser.peek().is_some_and(|token| token.is(',') || token.is(';'));
            let from = if separated { parser.at } else { parser.at.max(start + 1) };
            let left = tokens.get(from..).unwrap_or_default();
            let next = if fault == Fault::Group { Some(0) } else { left.iter().position(resumes) };
            parser.at = next.map_or(tokens.len(), |next| from + next);
        }
        let more = parser.take(',') || parser.take(';') && parser.at < tokens.len();
        if !more && parser.at >= tokens.len() {
            return (parser.specs, flaws);
        }
    }
}

/// Whether some tokens of a list are one mailbox or group.
pub(super) fn is_address(list: &str, tokens: &[Token<'_>], letters: Letters) -> bool {
    let mut parser = Parser { list, tokens, at: 0, letters, specs: Vec::new() };
    parser.entry().is_ok() && parser.at == tokens.len()
}

/// A dot-atom, of letters outside ASCII too (RFC 5322 section 3.2.3, RFC 6532 section 3.2).
pub(super) fn is_dot_atom(text: &str) -> bool {
    let is_atext = |one: char| !is_special(one) && !is_blank(one) && (one.is_ascii() || !is_invisible(one));
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

/// What nobody sees and nobody means to have in an address: white space and marks outside ASCII.
pub(super) fn is_invisible(one: char) -> bool {
    let marks = ['\u{ad}', '\u{180e}', '\u{feff}'].contains(&one);
    marks
        || one.is_whitespace()
        || matches!(one, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Whether a domain may stand behind an `@`: no final dot, labels or a literal.
pub(super) fn is_domain(domain: &str) -> bool {
    !domain.ends_with('.') && Address::is_domain(domain)
}

/// The text that the tokens of one address cover.
fn near<'a>(list: &'a str, tokens: &[Token<'a>]) -> &'a str {
    let covered = tokens.first().zip(tokens.last()).and_then(|(first, last)| list.get(first.start..last.end()));
    covered.unwrap_or_default().trim()
}

struct Parser<'t, 'a> {
    list: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
    letters: Letters,
    specs: Vec<Spec<'a>>,
}

impl<'t, 'a> Parser<'t, 'a> {
    /// One mailbox or group, up to the comma behind it or the end.
    fn entry(&mut self) -> Result<(), Fault> {
        self.address(true)?;
        match self.peek() {
            None => Ok(()),
            Some(token) if token.is(',') => Ok(()),
            Some(token) if token.is(';') => Err(Fault::Separator),
            Some(_) => Err(Fault::Angle),
        }
    }

    fn address(&mut self, groups: bool) -> Result<(), Fault> {
        self.cfws()?;
        let run = self.run();
        match self.peek().map(|token| token.kind) {
            Some(Kind::Special('@')) => {
                self.addr_spec(run)?;
                let end = self.at;
                self.cfws()?;
                match self.peek() {
                    Some(token) if !token.is(',') && !token.is(';') => {
                        Err(if self.at > end { Fault::DomainBlank } else { Fault::DomainIllegal })
                    }
                    _ => Ok(()),
                }
            }
            Some(Kind::Special('<')) => {
                self.phrase(run)?;
                self.angle()
            }
            Some(Kind::Special(':')) if groups => {
                self.phrase(run)?;
                self.group(run)
            }
            Some(Kind::Special(':')) => Err(Fault::Group),
            None | Some(Kind::Special(',' | ';')) => Err(bare(run)),
            Some(_) => Err(Fault::LocalIllegal),
        }
    }

    fn angle(&mut self) -> Result<(), Fault> {
        self.at += 1;
        let run = self.run();
        match self.peek().map(|token| token.kind) {
            Some(Kind::Special('@')) if run.is_empty() && self.has_route() => return Err(Fault::Route),
            Some(Kind::Special('@')) => self.addr_spec(run)?,
            Some(Kind::Special('>')) if run.is_empty() => return Err(Fault::NoLocal),
            None | Some(Kind::Special(',')) if run.is_empty() => return Err(Fault::Angle),
            None | Some(Kind::Special('>' | ',')) => return Err(bare(run)),
            Some(_) => return Err(Fault::LocalIllegal),
        }
        match self.peek() {
            Some(token) if token.is('>') => {
                self.at += 1;
                self.cfws()
            }
            Some(token) if token.is_cfws() => Err(Fault::DomainBlank),
            None => Err(Fault::Angle),
            Some(token) if token.is(',') => Err(Fault::Angle),
            Some(_) => Err(Fault::DomainIllegal),
        }
    }

    fn group(&mut self, name: &[Token<'_>]) -> Result<(), Fault> {
        self.at += 1;
        if name.is_empty() {
            return Err(Fault::Group);
        }
        self.cfws()?;
        if !self.take(';') {
            self.address(false)?;
            while self.take(',') {
                self.address(false)?;
            }
            if !self.take(';') {
                return Err(Fault::Group);
            }
        }
        self.cfws()
    }

    /// The `@` and what stands around it; nothing of it is white space.
    fn addr_spec(&mut self, local: &[Token<'a>]) -> Result<(), Fault> {
        self.local(local)?;
        self.at += 1;
        let start = self.at;
        let inside = |kind| matches!(kind, Kind::Atom | Kind::Encoded | Kind::Literal | Kind::Special('.'));
        while self.peek().is_some_and(|token| inside(token.kind)) {
            self.at += 1;
        }
        let tokens = self.tokens.get(start..self.at).unwrap_or_default();
        let Some(first) = tokens.first() else {
            let blank = self.peek().is_some_and(Token::is_cfws);
            let follows = self.tokens.iter().skip(start).find(|token| !token.is_cfws());
            let more = follows.is_some_and(|token| inside(token.kind));
            return Err(if blank && more { Fault::DomainBlank } else { Fault::NoDomain });
        };
        let domain = self.text(tokens);
        if self.letters == Letters::Ascii && !domain.is_ascii() {
            return Err(Fault::DomainNotAscii);
        }
        if !is_domain(domain) {
            return Err(Fault::DomainIllegal);
        }
        self.specs.push(Spec { local: self.text(local), domain, domain_start: first.start });
        Ok(())
    }

    /// A dot-atom or one quoted-string.
    fn local(&self, tokens: &[Token<'a>]) -> Result<(), Fault> {
        if tokens.iter().all(Token::is_cfws) {
            return Err(if tokens.is_empty() { Fault::NoLocal } else { Fault::LocalBlank });
        }
        if tokens.iter().any(Token::is_cfws) {
            return Err(Fault::LocalBlank);
        }
        if self.letters == Letters::Ascii && !tokens.iter().all(|token| token.text.is_ascii()) {
            return Err(Fault::LocalNotAscii);
        }
        let quoted = tokens.iter().any(|token| token.kind == Kind::Quoted);
        let legal = match tokens {
            [one] if quoted && one.text.contains(char::is_control) => return Err(Fault::LocalBlank),
            [one] if quoted => one.text.len() > 2,
            _ if tokens.iter().any(|token| token.kind == Kind::Encoded) => false,
            _ => is_dot_atom(self.text(tokens)),
        };
        if legal { Ok(()) } else { Err(Fault::LocalIllegal) }
    }

    /// A display name or a group's name, which may be missing.
    fn phrase(&self, tokens: &[Token<'a>]) -> Result<(), Fault> {
        let mut before: Option<Kind> = None;
        for token in tokens {
            let glued = before.is_some_and(|kind| !matches!(kind, Kind::Blank | Kind::Comment));
            match token.kind {
                Kind::Blank | Kind::Comment => self.white(token)?,
                Kind::Special(_) => return Err(Fault::Phrase),
                Kind::Encoded if glued => return Err(Fault::Word),
                _ if glued && before == Some(Kind::Encoded) => return Err(Fault::Word),
                Kind::Quoted if has_word(token.text) => return Err(Fault::Word),
                _ => self.letters(token.text)?,
            }
            before = Some(token.kind);
        }
        if tokens.iter().all(|token| token.kind != Kind::Encoded) {
            return Ok(());
        }
        let words = |tokens: &[Token<'a>]| -> Vec<EncodedWord<'a>> {
            tokens.iter().filter_map(|token| EncodedWord::at_start(token.text)).collect()
        };
        let mut groups = tokens.split(|token| !matches!(token.kind, Kind::Blank | Kind::Encoded));
        let kept = groups.all(|group| settled_words(&words(group), Place::Phrase).iter().all(is_kept));
        if kept { Ok(()) } else { Err(Fault::Word) }
    }

    /// What tokens that follow each other cover.
    fn text(&self, tokens: &[Token<'a>]) -> &'a str {
        let end = tokens.last().map_or(0, Token::end);
        tokens.first().and_then(|first| self.list.get(first.start..end)).unwrap_or_default()
    }

    fn cfws(&mut self) -> Result<(), Fault> {
        while let Some(token) = self.peek().filter(|token| token.is_cfws()) {
            self.white(token)?;
            self.at += 1;
        }
        Ok(())
    }

    fn white(&self, token: &Token<'_>) -> Result<(), Fault> {
        self.letters(token.text)?;
        let broken = token.kind == Kind::Comment && token.text.is_ascii() && mend_unstructured(token.text).is_some();
        if broken { Err(Fault::Word) } else { Ok(()) }
    }

    fn letters(&self, text: &str) -> Result<(), Fault> {
        if text.contains(|one: char| one.is_control() && one != '\t') {
            Err(Fault::Control)
        } else if self.letters == Letters::Ascii && !text.is_ascii() {
            Err(Fault::NotAscii)
        } else {
            Ok(())
        }
    }

    /// Words and dots with white space between them.
    fn run(&mut self) -> &'t [Token<'a>] {
        let start = self.at;
        let ends =
            |token: &Token<'_>| matches!(token.kind, Kind::Special(one) if one != '.') || token.kind == Kind::Literal;
        while self.peek().is_some_and(|token| !ends(token)) {
            self.at += 1;
        }
        self.tokens.get(start..self.at).unwrap_or_default()
    }

    fn has_route(&self) -> bool {
        let inside = self.tokens.iter().skip(self.at).take_while(|token| !token.is('>') && !token.is('<'));
        inside.into_iter().any(|token| token.is(':'))
    }

    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, special: char) -> bool {
        let there = self.peek().is_some_and(|token| token.is(special));
        self.at += usize::from(there);
        there
    }
}

/// What is wrong with words that no `@` follows.
fn bare(tokens: &[Token<'_>]) -> Fault {
    let words = tokens.iter().filter(|token| !token.is_cfws()).count();
    let trimmed = tokens.iter().rev().skip_while(|token| token.is_cfws());
    match words {
        0 => Fault::Separator,
        _ if trimmed.into_iter().any(Token::is_cfws) => Fault::LocalBlank,
        _ => Fault::NoAt,
    }
}

/// Whether a quoted-string holds an encoded-word, which is none there (RFC 2047 section 5), but meant as one.
fn has_word(quoted: &str) -> bool {
    let inside = content(quoted);
    inside.match_indices("=?").any(|(at, _)| {
        let word = inside.get(at..).and_then(EncodedWord::at_start);
        word.is_some_and(|word| word.text().is_some())
    })
}

fn is_kept(piece: &Piece<'_>) -> bool {
    !matches!(piece, Piece::Foreign(_))
}
