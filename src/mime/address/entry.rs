//! One mailbox, read whatever its form, and written in the right one.

use super::{
    spec::{Found, find},
    token::{Kind, Token, angle, content, is_blank},
    write::{comment, is_foreign, phrase},
};
use crate::header::{EncodedWord, Piece, Place, decoded, joined, pieces, printable, settled_words};

/// What stands where an address should.
pub(super) enum Entry {
    /// Mailboxes, written.
    Mailboxes(Vec<String>),
    /// Other text that was encoded or quoted as a whole, and has to be read as a list.
    Text(String),
    /// Nothing that anything could be made of.
    Nothing,
}

/// Reads the tokens between two commas; `own` is the domain that a local part alone gets.
pub(super) fn read(tokens: &[Token<'_>], own: Option<&str>) -> Entry {
    let parts = parts(tokens);
    if parts.iter().any(|part| part.addresses().is_some()) {
        return Entry::Mailboxes(angled(&parts));
    }
    if parts.iter().any(Part::is_wrong) {
        return Entry::Nothing;
    }
    if tokens.iter().any(|token| token.is('@')) {
        return loose(tokens).map_or(Entry::Nothing, Entry::Mailboxes);
    }
    if let Some(group) = undisclosed(tokens) {
        return Entry::Mailboxes(vec![group]);
    }
    let local = parts.iter().find_map(|part| match &part.found {
        Some(Found::Local(local)) => Some(local),
        _ => None,
    });
    if let (Some(local), Some(own)) = (local, own) {
        let name: Vec<Token<'_>> =
            parts.iter().filter(|part| part.found.is_none()).flat_map(|part| part.tokens).copied().collect();
        return Entry::Mailboxes(vec![mailbox(&name, &format!("{local}@{own}"))]);
    }
    let hidden = tokens.iter().any(|token| matches!(token.kind, Kind::Encoded | Kind::Quoted));
    let text = plain(tokens);
    if hidden && text.contains('@') {
        return Entry::Text(text);
    }
    match (own, find(tokens)) {
        (Some(own), Some(Found::Local(local))) if is_account(&local) => {
            let comments: Vec<Token<'_>> = tokens.iter().filter(|token| token.kind == Kind::Comment).copied().collect();
            Entry::Mailboxes(vec![mailbox(&comments, &format!("{local}@{own}"))])
        }
        _ => Entry::Nothing,
    }
}

/// The text of tokens, encoded-words decoded and quotes taken away.
fn plain(tokens: &[Token<'_>]) -> String {
    joined(&name(tokens).0)
}

/// Whether an encoded-word or a quoted-string may hold a whole mailbox.
pub(super) fn hides_address(token: &Token<'_>) -> bool {
    let text = match token.kind {
        Kind::Encoded => EncodedWord::at_start(token.text).and_then(|word| word.text()).unwrap_or_default(),
        _ => content(token.text),
    };
    let beside = |half: &str, last: bool| {
        let one = if last { half.chars().next_back() } else { half.chars().next() };
        one.is_some_and(|one| !is_blank(one))
    };
    text.split_once('@').is_some_and(|(local, domain)| beside(local, true) && beside(domain, false))
}

/// The display name that tokens make, and the comments between them.
pub(super) fn name<'a>(tokens: &[Token<'a>]) -> (Vec<Piece<'a>>, Vec<String>) {
    let mut name = Name::default();
    for (at, token) in tokens.iter().enumerate() {
        let beside = |at: Option<usize>| at.and_then(|at| tokens.get(at)).is_some_and(|token| !token.is_cfws());
        match token.kind {
            Kind::Blank => name.blank(),
            Kind::Comment => {
                name.blank();
                name.comments.push(comment(token.text));
            }
            Kind::Encoded => name.encoded(token.text, beside(at.checked_sub(1)) || beside(Some(at + 1))),
            Kind::Quoted => name.text(&decoded(&printable(&content(token.text)))),
            _ => name.text(token.text),
        }
    }
    name.end_words();
    name.end_text();
    let is_blank = |piece: &Piece<'_>| matches!(piece, Piece::Blank(_));
    let end = name.pieces.iter().rposition(|piece| !is_blank(piece)).map_or(0, |last| last + 1);
    name.pieces.truncate(end);
    let start = name.pieces.iter().take_while(|piece| is_blank(piece)).count();
    (name.pieces.split_off(start), name.comments)
}

/// A display name on its way from tokens to pieces.
#[derive(Default)]
struct Name<'a> {
    pieces: Vec<Piece<'a>>,
    comments: Vec<String>,
    /// Encoded-words with only blanks between them.
    words: Vec<EncodedWord<'a>>,
    /// Text since the last blank outside quotes.
    word: String,
    /// Whether a blank followed the encoded-words.
    blank: bool,
}

impl<'a> Name<'a> {
    fn blank(&mut self) {
        self.end_text();
        if !self.words.is_empty() {
            self.blank = true;
        } else if !matches!(self.pieces.last(), None | Some(Piece::Blank(_))) {
            self.pieces.push(Piece::Blank(" ".into()));
        }
    }

    fn text(&mut self, text: &str) {
        self.end_words();
        self.word.push_str(text);
    }

    /// An encoded-word; one that touches other text is none (RFC 2047 section 5 (3)), but read as such.
    fn encoded(&mut self, source: &'a str, touches: bool) {
        let Some(word) = EncodedWord::at_start(source) else { return };
        match word.text().filter(|_| touches) {
            Some(text) => self.text(&text),
            None => {
                self.end_text();
                self.blank |= touches;
                self.words.push(word);
            }
        }
    }

    fn end_text(&mut self) {
        let owned = |piece: Piece<'_>| match piece {
            Piece::Foreign(text) => Piece::Foreign(text.into_owned().into()),
            Piece::Plain(text) => Piece::Plain(text.into_owned().into()),
            Piece::Blank(text) => Piece::Blank(text.into_owned().into()),
            Piece::Encoded(_) => Piece::Blank("".into()),
        };
        self.pieces.extend(pieces(&std::mem::take(&mut self.word), is_foreign).into_iter().map(owned));
    }

    fn end_words(&mut self) {
        self.pieces.extend(settled_words(&std::mem::take(&mut self.words), Place::Phrase));
        if std::mem::take(&mut self.blank) {
            self.pieces.push(Piece::Blank(" ".into()));
        }
    }
}

/// Tokens of one entry: an angle bracket with what is in it, or what stands between two.
struct Part<'t, 'a> {
    tokens: &'t [Token<'a>],
    found: Option<Found>,
}

impl Part<'_, '_> {
    fn addresses(&self) -> Option<&[String]> {
        match &self.found {
            Some(Found::Whole(addresses)) => Some(addresses),
            _ => None,
        }
    }

    /// Whether angle brackets hold what should be an address and is none; nobody knows which part of it is meant.
    fn is_wrong(&self) -> bool {
        let has = |special: char| self.tokens.iter().any(|token| token.is(special));
        self.found.is_none() && has('<') && has('>') && has('@')
    }
}

fn parts<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<Part<'t, 'a>> {
    let mut parts = Vec::new();
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        let (found, count) = if first.is('<') {
            let (inside, count) = angle(rest);
            (find(inside), count)
        } else {
            (None, rest.iter().position(|token| token.is('<')).unwrap_or(rest.len()))
        };
        let (tokens, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        parts.push(Part { tokens, found });
        rest = others;
    }
    parts
}

/// Mailboxes with addresses in angle brackets; all else is their names.
fn angled(parts: &[Part<'_, '_>]) -> Vec<String> {
    let (mut named, mut name) = (Vec::new(), Vec::new());
    for part in parts {
        match part.addresses() {
            Some(addresses) => {
                for address in addresses {
                    named.push((std::mem::take(&mut name), address.clone()));
                }
            }
            None => name.extend_from_slice(part.tokens),
        }
    }
    written(named, &name)
}

/// Mailboxes without angle brackets, or with a half of them only: the words with an `@` are the addresses.
fn loose(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let blank = |token: &Token<'_>| token.is('<') || token.is('>');
    let tokens: Vec<Token<'_>> = tokens
        .iter()
        .map(|token| if blank(token) { Token { kind: Kind::Blank, text: " ", ..*token } } else { *token })
        .collect();
    let comments = || tokens.iter().filter(|token| token.kind == Kind::Comment).copied().collect::<Vec<_>>();
    if let Some(Found::Whole(addresses)) = find(&tokens) {
        let named = addresses.into_iter().map(|address| (Vec::new(), address)).collect();
        return Some(written(named, &comments()));
    }
    let (mut named, mut from) = (Vec::new(), 0);
    for (start, end) in words(&tokens) {
        let word = tokens.get(start..end).unwrap_or_default();
        if !word.iter().any(|token| token.is('@')) {
            continue;
        }
        let Some(Found::Whole(addresses)) = find(word) else { return None };
        let mut name = tokens.get(from..start).unwrap_or_default().to_vec();
        named.extend(addresses.into_iter().map(|address| (std::mem::take(&mut name), address)));
        from = end;
    }
    Some(written(named, tokens.get(from..).unwrap_or_default()))
}

/// Where the words are; an `@` with blanks around it joins those beside it (RFC 5322 section 4.4), and a control without
/// a blank parts nothing.
fn words(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut words: Vec<(usize, usize)> = Vec::new();
    let parts =
        |token: &Token<'_>| token.is_cfws() && (token.kind == Kind::Comment || token.text.contains([' ', '\t']));
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !parts(token)) {
        match words.last_mut() {
            Some((_, end)) if *end == at || token.is('@') || is_at(tokens.get(*end - 1)) => *end = at + 1,
            _ => words.push((at, at + 1)),
        }
    }
    words
}

fn is_at(token: Option<&Token<'_>>) -> bool {
    token.is_some_and(|token| token.is('@'))
}

/// The mailboxes with their names; what stands behind the last belongs to it, and an address said twice is one.
fn written<'a>(mut named: Vec<(Vec<Token<'a>>, String)>, behind: &[Token<'a>]) -> Vec<String> {
    if let Some((name, _)) = named.last_mut().filter(|_| !behind.is_empty()) {
        name.push(Token { kind: Kind::Blank, start: 0, text: " " });
        name.extend_from_slice(behind);
    }
    named.dedup_by(|next, one| next.1 == one.1 && next.0.iter().all(|token| token.kind == Kind::Blank));
    named.iter().map(|(name, address)| mailbox(name, address)).collect()
}

/// A mailbox of a name and an address.
fn mailbox(tokens: &[Token<'_>], address: &str) -> String {
    let around = |token: &&Token<'_>| token.kind == Kind::Blank || token.is(',') || token.is(';');
    let skipped = tokens.iter().take_while(around).count();
    let kept = tokens.len() - tokens.iter().rev().take_while(around).count();
    let (pieces, comments) = name(tokens.get(skipped..kept).unwrap_or_default());
    let name = phrase(&pieces);
    let mut mailbox = if name.is_empty() { address.to_owned() } else { format!("{name} <{address}>") };
    for comment in comments {
        mailbox.push(' ');
        mailbox.push_str(&comment);
    }
    mailbox
}

/// `undisclosed-recipients` without the `:;` that makes it a group (RFC 5322 appendix A.1.3).
fn undisclosed(tokens: &[Token<'_>]) -> Option<String> {
    let tokens: Vec<Token<'_>> = tokens.iter().filter(|token| !token.is('<') && !token.is('>')).copied().collect();
    let text = plain(&tokens);
    let start = text.trim_start().get(.."undisclosed".len())?;
    // An encoded-word may hide anything behind it, even addresses.
    let is_plain = text.chars().all(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_' | '.' | '\''));
    (is_plain && start.eq_ignore_ascii_case("undisclosed")).then(|| format!("{}:;", phrase(&name(&tokens).0)))
}

/// Whether a word is more likely the name of an account than of a person: `root`, `MAILER-DAEMON`, but not `Evan`.
fn is_account(local: &str) -> bool {
    let role =
        ["postmaster", "mailer-daemon", "administrator", "root"].iter().any(|role| local.eq_ignore_ascii_case(role));
    let has = |test: fn(&char) -> bool| local.chars().any(|one| test(&one));
    role || !(has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase))
}
