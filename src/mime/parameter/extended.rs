//! RFC 2231: `name*0`, `name*1*` and `name*=charset'language'text`.

use mail_parser::decoders::charsets::map::charset_decoder;

use super::lex::is_token;
use crate::header;

/// The name of a parameter in its pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionName<'a> {
    /// The name proper.
    pub base: &'a str,
    /// Which section of a value that was cut in pieces.
    pub number: Option<u32>,
    /// Whether the value is percent-encoded.
    pub extended: bool,
}

impl<'a> SectionName<'a> {
    /// Reads a name; nothing if its stars mean nothing.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let Some((base, tail)) = name.split_once('*') else {
            return Some(Self { base: name, number: None, extended: false });
        };
        let (digits, extended) = match tail.strip_suffix('*') {
            _ if tail.is_empty() => ("", true),
            Some(digits) => (digits, true),
            None => (tail, false),
        };
        let number = if tail.is_empty() { None } else { Some(digits.parse().ok()?) };
        let legal = digits.bytes().all(|octet| octet.is_ascii_digit());
        (legal && !base.is_empty()).then_some(Self { base, number, extended })
    }

    /// Whether its value begins with the charset.
    fn is_first(self) -> bool {
        self.number.unwrap_or_default() == 0
    }
}

/// Whether an extended value is written as RFC 2231 section 7 wants it: a token, its charset first, its percents paired.
pub(super) fn is_valid(section: SectionName<'_>, value: &[u8]) -> bool {
    let quotes = value.iter().filter(|octet| **octet == b'\'').count();
    let mut percents = value.split(|octet| *octet == b'%').skip(1);
    let paired = percents.all(|piece| piece.get(..2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit)));
    value.iter().all(|octet| is_token(*octet)) && paired && (quotes >= 2 || !section.is_first())
}

/// The text of a value in sections, each with its octets.
pub(super) fn join(mut sections: Vec<(SectionName<'_>, &[u8])>) -> String {
    sections.sort_by_key(|(section, _)| section.number);
    let (mut octets, mut charset) = (Vec::new(), None);
    for (section, value) in sections {
        let mut pieces = value.splitn(3, |octet| *octet == b'\'');
        match (pieces.next(), pieces.next(), pieces.next()) {
            (Some(named), Some(_), Some(text)) if section.extended && section.is_first() => {
                charset = Some(named);
                octets.extend(percent_decoded(text));
            }
            _ if section.extended => octets.extend(percent_decoded(value)),
            _ => octets.extend_from_slice(value),
        }
    }
    let named = charset.filter(|name| !name.eq_ignore_ascii_case(b"utf-8") && !octets.is_ascii());
    match named.and_then(charset_decoder) {
        Some(decoder) => decoder(&octets),
        None => header::text(&octets).into_owned(),
    }
}

fn percent_decoded(value: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(octet) = value.get(at) {
        let pair = value.get(at + 1..at + 3).filter(|pair| *octet == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        let coded = pair.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        octets.push(coded.unwrap_or(*octet));
        at += if coded.is_some() { 3 } else { 1 };
    }
    octets
}

/// A text as an extended value in UTF-8.
pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut value = "UTF-8''".to_owned();
    for octet in text.bytes() {
        if is_token(octet) && !b"*'%".contains(&octet) {
            value.push(char::from(octet));
        } else {
            let _ = write!(value, "%{octet:02X}");
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(sections: &[(&'static str, &'static str)]) -> String {
        let named =
            |(name, value): &(&'static str, &'static str)| (SectionName::parse(name).unwrap(), value.as_bytes());
        join(sections.iter().map(named).collect())
    }

    #[test]
    fn names_have_sections() {
        let name = |text| SectionName::parse(text).map(|name| (name.base, name.number, name.extended));
        assert_eq!(name("filename"), Some(("filename", None, false)));
        assert_eq!(name("filename*"), Some(("filename", None, true)));
        assert_eq!(name("filename*10"), Some(("filename", Some(10), false)));
        assert_eq!(name("filename*0*"), Some(("filename", Some(0), true)));
        for wrong in ["*", "*0", "filename**", "filename*x", "filename*0**", "filename*+1"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn values_are_joined_and_decoded() {
        assert_eq!(joined(&[("name*", "iso-8859-1'de'Gr%F6%DFe")]), "Größe");
        assert_eq!(joined(&[("name*1", "b.txt"), ("name*0", "a")]), "ab.txt");
        assert_eq!(joined(&[("name*0*", "UTF-8''%C3"), ("name*1*", "%BC"), ("name*2", ".txt")]), "ü.txt");
        assert_eq!(joined(&[("name*", "100%.txt")]), "100%.txt");
    }

    #[test]
    fn what_is_encoded_is_valid_and_decodes_to_itself() {
        for text in ["Größe.pdf", "100% it's (a) *star*.txt", "日本語"] {
            let (value, name) = (encode(text), SectionName::parse("x*").unwrap());
            assert!(is_valid(name, value.as_bytes()), "{value}");
            assert_eq!(join(vec![(name, value.as_bytes())]), text);
        }
    }
}
