//! Encoded-words as they come in: the legal ones of RFC 2047 section 2, and those that are only meant to be.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};

use super::octets;

/// Characters of one encoded-word at most (RFC 2047 section 2).
pub(super) const WORD: usize = 75;
/// Words that may share one character; beyond it they are not put together.
const TOGETHER: usize = 64;

/// Where an encoded-word stands, which decides what Q encoding may hold (RFC 2047 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In an unstructured field.
    Text,
    /// In a display name or a comment.
    Phrase,
}

/// Something of the form `=?charset?encoding?content?=`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedWord<'a> {
    source: &'a str,
    charset: &'a str,
    base64: bool,
    content: &'a str,
}

/// What becomes of encoded-words that stand side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Settled<'a> {
    /// It may stay as it is, or nothing can be made of it.
    Kept(&'a str),
    /// The text of one or more that may not stay.
    Decoded(String),
}

impl<'a> EncodedWord<'a> {
    /// The word that a text begins with, legal or not: blanks and specials may stand in its content.
    pub fn at_start(text: &'a str) -> Option<Self> {
        let (charset, rest) = text.strip_prefix("=?")?.split_once('?')?;
        let (encoding, rest) = rest.split_once('?')?;
        let base64 = match encoding {
            "b" | "B" => true,
            "q" | "Q" => false,
            _ => return None,
        };
        let named = |octet: u8| octet.is_ascii_graphic() && !b"()<>@,;\"/[]=\\".contains(&octet);
        if charset.is_empty() || !charset.bytes().all(named) {
            return None;
        }
        let content = rest.get(..content_end(rest)?)?;
        let source = text.get(..charset.len() + content.len() + "=??q??=".len())?;
        let charset = charset.split('*').next().unwrap_or_default();
        Some(Self { source, charset, base64, content })
    }

    /// The word as it stands.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// What it says; `None` if nobody can tell. It has no controls, whatever was encoded.
    pub fn text(&self) -> Option<String> {
        decoded(self.charset, &self.octets()?)
    }

    /// Whether it can be read, or is a legal word in a charset that others may know.
    pub fn is_word(&self, place: Place) -> bool {
        self.is_legal(place) || self.text().is_some()
    }

    /// Whether it may stay: legal, and readable alone unless its charset is one that others may know.
    fn is_sound(&self, place: Place) -> bool {
        self.is_legal(place) && octets::is_known(self.charset) == self.text().is_some()
    }

    /// RFC 2047 sections 2, 4 and 5.
    fn is_legal(&self, place: Place) -> bool {
        let content = self.content.as_bytes();
        let octets = if self.base64 {
            STANDARD.decode(content).is_ok()
        } else {
            content.iter().enumerate().all(|(at, octet)| match (place, octet) {
                (_, b'=') => hex(content, at).is_some(),
                (Place::Text, octet) => octet.is_ascii_graphic() && *octet != b'?',
                (Place::Phrase, octet) => octet.is_ascii_alphanumeric() || b"!*+-/_".contains(octet),
            })
        };
        octets && !content.is_empty() && self.source.len() <= WORD && !self.charset.contains(':')
    }

    /// The octets that were encoded; what is no encoding stands for itself.
    fn octets(&self) -> Option<Vec<u8>> {
        if !self.content.is_ascii() && !self.charset.eq_ignore_ascii_case("utf-8") {
            return None;
        }
        if self.base64 { from_base64(self.content) } else { Some(from_q(self.content.as_bytes())) }
    }
}

/// What becomes of words between which there are blanks only: readers take them together, and so does this, since some
/// programs cut a character in two (RFC 2047 section 5 forbids it).
pub(super) fn settle<'a>(words: &[EncodedWord<'a>], place: Place) -> Vec<Settled<'a>> {
    let mut settled = Vec::with_capacity(words.len());
    let mut rest = words;
    while let Some((first, others)) = rest.split_first() {
        if first.is_sound(place) {
            settled.push(Settled::Kept(first.source));
            rest = others;
            continue;
        }
        let alike = |word: &EncodedWord<'_>| word.charset.eq_ignore_ascii_case(first.charset);
        let group = rest.iter().take(TOGETHER).take_while(|word| alike(word)).count();
        let (text, count) = together(rest.get(..group).unwrap_or_default());
        let (done, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        match text {
            Some(text) => settled.push(Settled::Decoded(text)),
            // What nobody can read is kept, but no octet of it may leave that is not ASCII.
            None => settled.extend(done.iter().map(|word| match word.source.is_ascii() {
                true => Settled::Kept(word.source),
                false => Settled::Decoded(word.source.to_owned()),
            })),
        }
        rest = others;
    }
    settled
}

/// The text of as few words of one charset as have one, and how many they are; all of them if they have none.
fn together(words: &[EncodedWord<'_>]) -> (Option<String>, usize) {
    let mut octets = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let Some(more) = word.octets() else { return (None, index.max(1)) };
        octets.extend(more);
        if let Some(text) = decoded(word.charset, &octets) {
            return (Some(text), index + 1);
        }
    }
    (None, words.len().max(1))
}

fn decoded(charset: &str, octets: &[u8]) -> Option<String> {
    octets::decode(charset, octets).map(|text| super::printable(&text))
}

/// Where the content ends that is followed by `?=`; `None` if another word begins before it.
fn content_end(rest: &str) -> Option<usize> {
    let octets = rest.as_bytes();
    memchr::memchr_iter(b'?', octets)
        .find_map(|at| match (octets.get(at + 1), at.checked_sub(1).and_then(|before| octets.get(before))) {
            (Some(b'='), _) => Some(Some(at)),
            (_, Some(b'=')) => Some(None),
            _ => None,
        })
        .flatten()
}

/// RFC 2047 section 4.2, and what is left when it is not kept.
fn from_q(content: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(content.len());
    let mut at = 0;
    while let Some(octet) = content.get(at) {
        match (octet, hex(content, at)) {
            (b'=', Some(encoded)) => {
                octets.push(encoded);
                at += 2;
            }
            (b'_', _) => octets.push(b' '),
            (other, _) => octets.push(*other),
        }
        at += 1;
    }
    octets
}

/// The octet of the two hexadecimal digits behind a position.
fn hex(content: &[u8], at: usize) -> Option<u8> {
    let digit = |offset: usize| content.get(at + offset).and_then(|octet| char::from(*octet).to_digit(16));
    u8::try_from(digit(1)? * 16 + digit(2)?).ok()
}

/// Base64 with blanks in it, without padding, with too much, or with some in the middle.
fn from_base64(content: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true);
    const ENGINE: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    let dense: String = content.split_ascii_whitespace().collect();
    let mut octets = Vec::with_capacity(dense.len());
    for chunk in dense.split('=') {
        ENGINE.decode_vec(chunk, &mut octets).ok()?;
    }
    Some(octets)
}
