//! Text into encoded-words (RFC 2047), as few as it needs.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};

use super::encoded_word::{EncodedWord, Place, Settled, settle};

/// Characters of `=?UTF-8?Q??=`.
const FRAME: usize = 12;
/// Characters of the words made here: a line with one has at most 76 (RFC 2047 section 2), and `Subject: ` or the like
/// stands before the first.
const MADE: usize = 62;
/// Octets of which base64 makes as many characters as fit into a word.
const OCTETS: usize = (MADE - FRAME) / 4 * 3;

/// A piece of a value that is to be written with encoded-words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Blanks between words.
    Blank(Cow<'a, str>),
    /// A word that can stay.
    Plain(Cow<'a, str>),
    /// Text that cannot stay.
    Foreign(Cow<'a, str>),
    /// An encoded-word that stays.
    Encoded(&'a str),
}

/// The pieces of a text, cut at blanks; `is_foreign` says which words cannot stay.
pub fn pieces<'a>(text: &'a str, is_foreign: impl Fn(&str) -> bool) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let (piece, tail) = match blanks {
            0 => {
                let end = rest.find([' ', '\t']).unwrap_or(rest.len());
                let (word, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
                (if is_foreign(word) { Piece::Foreign(word.into()) } else { Piece::Plain(word.into()) }, tail)
            }
            _ => {
                let (blank, tail) = rest.split_at_checked(blanks).unwrap_or((rest, ""));
                (Piece::Blank(blank.into()), tail)
            }
        };
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The value of the pieces.
///
/// Foreign pieces with nothing but blanks between them are encoded as one text, for readers drop blanks between
/// encoded-words. What is glued to a foreign piece is encoded with it.
pub fn encode(pieces: &[Piece<'_>]) -> String {
    let mut writer = Writer::default();
    for piece in &unglued(pieces) {
        match piece {
            Piece::Blank(blank) => writer.gap.push_str(blank),
            Piece::Foreign(text) => writer.foreign(text),
            Piece::Plain(word) => writer.plain(word),
            Piece::Encoded(word) => writer.encoded(word),
        }
    }
    writer.flush();
    writer.out
}

/// An unstructured value in ASCII, if it needs a change: words outside ASCII, and encoded-words that are broken or too
/// long and can be read, are encoded anew; the others stay.
pub fn mend_unstructured(text: &str) -> Option<String> {
    let printable = super::printable(text);
    let pieces = settled(&printable);
    let changes = printable != text || pieces.iter().any(|piece| matches!(piece, Piece::Foreign(_)));
    changes.then(|| encode(&pieces))
}

/// An unstructured text with its encoded-words decoded; those that nobody can read stay.
pub fn decoded(text: &str) -> String {
    joined(&settled(text))
}

/// The text that pieces say; readers drop blanks between encoded-words.
pub fn joined(pieces: &[Piece<'_>]) -> String {
    let encoded = |at: Option<usize>| at.is_some_and(|at| matches!(pieces.get(at), Some(Piece::Encoded(_))));
    let text = |(at, piece): (usize, &Piece<'_>)| match piece {
        Piece::Blank(_) if encoded(at.checked_sub(1)) && encoded(Some(at + 1)) => String::new(),
        Piece::Blank(text) | Piece::Plain(text) | Piece::Foreign(text) => text.clone().into_owned(),
        Piece::Encoded(word) => {
            let text = EncodedWord::at_start(word).and_then(|word| word.text());
            text.unwrap_or_else(|| (*word).to_owned())
        }
    };
    pieces.iter().enumerate().map(text).collect()
}

/// The pieces of an unstructured value, its encoded-words settled.
fn settled(text: &str) -> Vec<Piece<'_>> {
    let is_foreign = |word: &str| !word.is_ascii();
    let mut out = Vec::new();
    let mut words: Vec<EncodedWord<'_>> = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("=?")).map(|at| from + at) {
        let word = text.get(at..).and_then(EncodedWord::at_start).filter(|word| word.is_word(Place::Text));
        let Some(word) = word else {
            from = at + 2;
            continue;
        };
        let between = text.get(start..at).unwrap_or_default();
        if words.is_empty() || !between.trim_matches([' ', '\t']).is_empty() {
            out.extend(settled_words(&std::mem::take(&mut words), Place::Text));
            out.extend(pieces(between, is_foreign));
        }
        from = at + word.source().len();
        start = from;
        words.push(word);
    }
    out.extend(settled_words(&words, Place::Text));
    out.extend(pieces(text.get(start..).unwrap_or_default(), is_foreign));
    out
}

/// The pieces of adjacent encoded-words; a blank stands only between two that stay.
pub fn settled_words<'a>(words: &[EncodedWord<'a>], place: Place) -> Vec<Piece<'a>> {
    let mut out: Vec<Piece<'a>> = Vec::new();
    for word in settle(words, place) {
        match word {
            Settled::Kept(word) => {
                if matches!(out.last(), Some(Piece::Encoded(_))) {
                    out.push(Piece::Blank(" ".into()));
                }
                out.push(Piece::Encoded(word));
            }
            Settled::Decoded(text) => out.push(Piece::Foreign(text.into())),
        }
    }
    out
}

/// Plain words that touch a foreign piece become foreign.
fn unglued<'a>(pieces: &[Piece<'a>]) -> Vec<Piece<'a>> {
    let mut out = pieces.to_vec();
    let mut infect = |order: &mut dyn Iterator<Item = usize>| {
        let mut foreign = false;
        for at in order {
            let Some(piece) = out.get_mut(at) else { continue };
            if let (true, Piece::Plain(word)) = (foreign, &*piece) {
                *piece = Piece::Foreign(word.clone());
            }
            foreign = matches!(piece, Piece::Foreign(_));
        }
    };
    infect(&mut (0..pieces.len()));
    infect(&mut (0..pieces.len()).rev());
    out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Blanks since the last word.
    gap: String,
    /// Foreign text that waits for more.
    run: String,
    after_encoded: bool,
}

impl Writer {
    fn foreign(&mut self, text: &str) {
        let gap = std::mem::take(&mut self.gap);
        if self.run.is_empty() && !self.after_encoded {
            self.out.push_str(&gap);
        } else {
            self.run.push_str(&gap);
        }
        self.run.push_str(text);
    }

    fn plain(&mut self, word: &str) {
        self.flush();
        self.put(word);
        self.after_encoded = false;
    }

    fn encoded(&mut self, word: &str) {
        if !self.run.is_empty() {
            self.run.push_str(&std::mem::take(&mut self.gap));
            self.flush();
        }
        if self.after_encoded && self.gap.is_empty() {
            self.gap.push(' ');
        }
        self.put(word);
        self.after_encoded = true;
    }

    /// Writes the foreign text that waits.
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        if self.after_encoded {
            self.out.push(' ');
        }
        self.out.push_str(&encode_run(&self.run).join(" "));
        self.run.clear();
        self.after_encoded = true;
    }

    fn put(&mut self, word: &str) {
        self.out.push_str(&std::mem::take(&mut self.gap));
        self.out.push_str(word);
    }
}

/// The encoded-words of one text: Q, which a reader can still make out, unless base64 is shorter by more than its
/// padding. Each is valid alone, with whole characters only (RFC 2047 sections 2 and 5).
pub(super) fn encode_run(text: &str) -> Vec<String> {
    let q = framed(
        "Q",
        chunks(text, MADE - FRAME, |one| q_char(one).len()).map(|chunk| chunk.chars().map(q_char).collect()),
    );
    let base64 = framed("B", chunks(text, OCTETS, char::len_utf8).map(|chunk| STANDARD.encode(chunk)));
    let length = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
    if length(&base64) + 2 < length(&q) { base64 } else { q }
}

fn framed(encoding: &str, contents: impl Iterator<Item = String>) -> Vec<String> {
    contents.map(|content| format!("=?UTF-8?{encoding}?{content}?=")).collect()
}

/// A text in chunks whose characters together weigh at most so much.
fn chunks(text: &str, most: usize, weight: impl Fn(char) -> usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let over = |(_, one): &(usize, char)| {
            sum += weight(*one);
            sum > most
        };
        let end = rest.char_indices().find(over).map_or(rest.len(), |(at, _)| at);
        let (chunk, tail) = rest.split_at_checked(end)?;
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// RFC 2047 section 5 (3): these characters alone may stand in a word anywhere, even in a phrase.
fn q_char(one: char) -> String {
    match one {
        ' ' => "_".to_owned(),
        '!' | '*' | '+' | '-' | '/' => one.to_string(),
        _ if one.is_ascii_alphanumeric() => one.to_string(),
        _ => one.encode_utf8(&mut [0; 4]).bytes().map(|octet| format!("={octet:02X}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::decode;

    #[test]
    fn only_what_needs_it_is_encoded() {
        for (value, mended) in [
            ("Prüfung am 3. März", "=?UTF-8?Q?Pr=C3=BCfung?= am 3. =?UTF-8?Q?M=C3=A4rz?="),
            ("Ünï cödé, ok", "=?UTF-8?B?w5xuw68gY8O2ZMOpLA==?= ok"),
            ("a  é", "a  =?UTF-8?Q?=C3=A9?="),
            ("é =?utf-8?q?=C3=A9?= a", "=?UTF-8?B?w6kg?= =?utf-8?q?=C3=A9?= a"),
            ("=?utf-8?q?=C3=A9?= é", "=?utf-8?q?=C3=A9?= =?UTF-8?B?IMOp?="),
            ("=?utf-8?q?=C3=A9?=é", "=?utf-8?q?=C3=A9?= =?UTF-8?Q?=C3=A9?="),
            ("a\u{1}b", "a b"),
        ] {
            assert_eq!(mend_unstructured(value).as_deref(), Some(mended), "{value}");
            assert_eq!(mend_unstructured(mended), None, "{mended}");
        }
    }

    #[test]
    fn broken_words_are_encoded_anew_and_legal_ones_stay() {
        let long = format!("=?utf-8?q?{}?=", "=C3=A9".repeat(20));
        for (value, text) in [
            (long.as_str(), "é".repeat(20).as_str()),
            ("=?utf-8?q?h=C3=A9llo world?=", "héllo world"),
            ("=?utf-8?b?w6k?=", "é"),
            ("=?utf-8?b?w6k==?=", "é"),
            ("=?utf-8?b?w6nDqQ==w6k=?=", "ééé"),
            ("=?utf-8?b?w6n\tDqQ==?=", "éé"),
            ("=?unknown-8bit?q?=C3=A9?=", "é"),
            ("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "é"),
            ("x =?utf-8?q??= y", "x  y"),
            ("=?iso_8859-1:1987?q?=E9?=", "é"),
        ] {
            let mended = mend_unstructured(value).unwrap();
            assert_eq!(decode(mended.as_bytes()).replace("x y", "x  y"), text, "{value}: {mended}");
            assert_eq!(mend_unstructured(&mended), None, "{mended}");
        }
        for value in [
            "=?iso-8859-1?Q?J=FCrgen?= and =?utf-8?b?w6k=?=",
            "=?x-klingon?q?=ff=fe?=",
            "=?utf-8?q?=E9?=",
            "=?utf-8?q?open",
            "what =? this ?=",
            "[RT]=?utf-8?q?x?=",
        ] {
            assert_eq!(mend_unstructured(value), None, "{value}");
        }
    }

    #[test]
    fn a_glued_word_goes_with_what_is_encoded() {
        let mended = mend_unstructured("a =?utf-8?q?b c?=d e").unwrap();
        assert_eq!(mended, "a =?UTF-8?Q?b_cd?= e");
    }

    proptest! {
        #[test]
        fn every_word_is_short_valid_alone_and_says_the_text(text in "\\PC{1,200}") {
            let words = encode_run(&text);
            let said: Vec<String> = words.iter().map(|word| EncodedWord::at_start(word).unwrap().text().unwrap()).collect();
            prop_assert_eq!(said.concat(), super::super::printable(&text));
            prop_assert!(words.iter().all(|word| word.len() <= MADE));
        }

        #[test]
        fn any_text_becomes_ascii_once(text in "([ -~\té\u{0}ü]|=\\?|\\?=|utf-8|\\?q\\?|\\?b\\?|=C3|=A9){0,60}") {
            let once = mend_unstructured(&text).unwrap_or_else(|| text.clone());
            prop_assert!(once.is_ascii());
            prop_assert_eq!(mend_unstructured(&once), None, "{}", once);
        }
    }
}
