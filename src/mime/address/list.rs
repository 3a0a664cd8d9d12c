//! A list, read whatever its form: where its entries end, and which of them are groups.

use super::{
    entry::{self, Entry},
    strict::{Letters, is_address},
    token::{Kind, Token, angle, lex},
    write::phrase,
};

/// Reads lists.
#[derive(Clone, Copy)]
pub(super) struct Reader<'o> {
    /// Which letters an entry that stays may have.
    pub(super) letters: Letters,
    /// The domain that a local part alone gets.
    pub(super) own: Option<&'o str>,
    /// Whether an entry may turn out to be a list of its own.
    pub(super) nested: bool,
}

impl Reader<'_> {
    /// The entries, written: those that are right as they stand. `None` if an entry is none.
    pub(super) fn read(&self, list: &str) -> Option<Vec<String>> {
        let tokens = lex(list);
        let mut reading = Reading::new(*self, list, &tokens);
        while reading.at < reading.segments.len() {
            reading.step()?;
        }
        reading.close();
        Some(reading.out)
    }

    fn entry(&self, list: &str, tokens: &[Token<'_>]) -> Option<Vec<String>> {
        if is_address(list, tokens, self.letters) {
            return Some(vec![source(list, tokens)]);
        }
        match entry::read(tokens, self.own) {
            Entry::Mailboxes(mailboxes) => Some(mailboxes),
            // What was ASCII while it was encoded has to be so again.
            Entry::Text(text) if !self.nested => {
                Reader { nested: true, letters: Letters::Ascii, own: self.own }.read(&text)
            }
            Entry::Text(_) | Entry::Nothing => None,
        }
    }
}

fn source(list: &str, tokens: &[Token<'_>]) -> String {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return String::new() };
    list.get(first.start..last.end()).unwrap_or_default().trim_matches([' ', '\t']).to_owned()
}

/// What a segment holds; of several things, the last of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Holds {
    /// Blanks and comments.
    Nothing,
    /// Words.
    Words,
    /// An address, or what may hide one.
    Address,
    /// An angle bracket.
    Angle,
}

/// Tokens up to a comma, semicolon or colon.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    end: usize,
    separator: Option<char>,
    holds: Holds,
}

struct Group {
    name: String,
    members: Vec<String>,
    depth: usize,
}

struct Reading<'r, 't, 'a> {
    reader: Reader<'r>,
    list: &'a str,
    tokens: &'t [Token<'a>],
    segments: Vec<Segment>,
    /// For each segment, the one with an address that its words may belong to.
    owner: Vec<Option<usize>>,
    /// For each segment, the one that ends in the next semicolon.
    semicolon: Vec<Option<usize>>,
    at: usize,
    out: Vec<String>,
    group: Option<Group>,
}

impl<'r, 't, 'a> Reading<'r, 't, 'a> {
    fn new(reader: Reader<'r>, list: &'a str, tokens: &'t [Token<'a>]) -> Self {
        let segments = segments(tokens);
        let mut semicolon: Vec<Option<usize>> = Vec::with_capacity(segments.len());
        for (at, segment) in segments.iter().enumerate().rev() {
            let next = semicolon.last().copied().flatten();
            semicolon.push(if segment.separator == Some(';') { Some(at) } else { next });
        }
        semicolon.reverse();
        let mut reading =
            Self { reader, list, tokens, segments, owner: Vec::new(), semicolon, at: 0, out: Vec::new(), group: None };
        reading.owner = reading.owners();
        reading
    }

    fn owners(&self) -> Vec<Option<usize>> {
        let groups: Vec<bool> = (0..self.segments.len()).map(|at| self.is_group(at)).collect();
        let grouped = groups.contains(&true);
        let mut owners: Vec<Option<usize>> = Vec::with_capacity(self.segments.len());
        for (at, segment) in self.segments.iter().enumerate().rev() {
            let next = owners.last().copied().flatten();
            let ends = groups.get(at) == Some(&true) || grouped && segment.separator == Some(';');
            owners.push(match segment.holds {
                Holds::Address | Holds::Angle => Some(at),
                Holds::Nothing | Holds::Words if ends => None,
                Holds::Nothing | Holds::Words => next,
            });
        }
        owners.reverse();
        owners
    }

    /// Reads one entry, or the name or end of a group.
    fn step(&mut self) -> Option<()> {
        let segment = *self.segments.get(self.at)?;
        if self.is_group(self.at) {
            self.open(segment);
            return Some(());
        }
        let last =
            if segment.holds == Holds::Nothing && segment.separator != Some(':') { self.at } else { self.last() };
        let end = self.segments.get(last)?;
        if last > self.at || segment.holds != Holds::Nothing {
            let tokens = trimmed(self.tokens.get(segment.start..end.end).unwrap_or_default());
            let entries = self.reader.entry(self.list, tokens)?;
            self.group.as_mut().map_or(&mut self.out, |group| &mut group.members).extend(entries);
        }
        self.at = last + 1;
        if end.separator == Some(';')
            && let Some(group) = &mut self.group
        {
            group.depth -= 1;
            if group.depth == 0 {
                self.close();
            }
        }
        Some(())
    }

    /// The last segment of the entry that begins here: a colon that begins no group belongs to a name, and words
    /// without an address belong to the next one in angle brackets.
    fn last(&self) -> usize {
        let mut last = self.at;
        let separated = |at: usize| self.segments.get(at).is_some_and(|segment| segment.separator == Some(':'));
        while separated(last) && !self.is_group(last) && last + 1 < self.segments.len() {
            last += 1;
        }
        let found = |at: usize| self.segments.get(at).map_or(Holds::Nothing, |segment| segment.holds);
        if (self.at..=last).any(|at| matches!(found(at), Holds::Address | Holds::Angle)) {
            return last;
        }
        let owner = self.owner.get(last).copied().flatten().filter(|owner| found(*owner) == Holds::Angle);
        owner.unwrap_or(last)
    }

    /// Whether a segment is the name of a group: a semicolon follows, or nothing, or addresses without brackets. A
    /// colon in a name without quotes stands before an address in brackets.
    fn is_group(&self, at: usize) -> bool {
        let Some(segment) = self.segments.get(at) else { return false };
        if segment.separator != Some(':') || segment.holds == Holds::Nothing {
            return false;
        }
        let behind = self.semicolon.get(at + 1).copied().flatten().is_some();
        behind
            || matches!(self.segments.get(at + 1).map(|next| next.holds), None | Some(Holds::Nothing | Holds::Address))
    }

    fn open(&mut self, segment: Segment) {
        let semicolon = self.semicolon.get(self.at + 1).copied().flatten();
        if let (None, Some(last)) = (&self.group, semicolon) {
            let end = self.segments.get(last).map_or(segment.end, |last| last.end + 1);
            let tokens = trimmed(self.tokens.get(segment.start..end).unwrap_or_default());
            if is_address(self.list, tokens, self.reader.letters) {
                self.out.push(source(self.list, tokens));
                self.at = last + 1;
                return;
            }
        }
        self.at += 1;
        match &mut self.group {
            Some(group) => group.depth += 1,
            None => {
                let tokens = trimmed(self.tokens.get(segment.start..segment.end).unwrap_or_default());
                let name = phrase(&entry::name(tokens).0);
                self.group = Some(Group { name, members: Vec::new(), depth: 1 });
            }
        }
    }

    fn close(&mut self) {
        if let Some(group) = self.group.take() {
            let blank = if group.members.is_empty() { "" } else { " " };
            self.out.push(format!("{}:{blank}{};", group.name, group.members.join(", ")));
        }
    }
}

fn trimmed<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let is_blank = |token: &&Token<'_>| token.kind == Kind::Blank;
    let start = tokens.iter().take_while(is_blank).count();
    let end = tokens.len() - tokens.iter().rev().take_while(is_blank).count();
    tokens.get(start..end).unwrap_or_default()
}

/// Cuts tokens at commas, semicolons and colons outside angle brackets.
fn segments(tokens: &[Token<'_>]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let (mut start, mut at, mut holds) = (0, 0, Holds::Nothing);
    while let Some(token) = tokens.get(at) {
        let more = match token.kind {
            Kind::Special(separator @ (',' | ';' | ':')) if separator != ':' || !is_scheme(tokens, at) => {
                segments.push(Segment { start, end: at, separator: Some(separator), holds });
                (start, holds) = (at + 1, Holds::Nothing);
                at += 1;
                continue;
            }
            Kind::Special('<') => Holds::Angle,
            Kind::Special('@') => Holds::Address,
            Kind::Encoded | Kind::Quoted if entry::hides_address(token) => Holds::Address,
            Kind::Blank | Kind::Comment => Holds::Nothing,
            _ => Holds::Words,
        };
        holds = holds.max(more);
        at += if token.is('<') { angle(tokens.get(at..).unwrap_or_default()).1 } else { 1 };
    }
    segments.push(Segment { start, end: tokens.len(), separator: None, holds });
    segments
}

/// Whether the colon at a position ends `mailto:`.
fn is_scheme(tokens: &[Token<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|token| ["mailto", "smtp"].iter().any(|scheme| token.text.eq_ignore_ascii_case(scheme)))
}
