//! Header octets as text, in whatever charset they were written.
//!
//! RFC 5322 section 2.2 knows ASCII only, RFC 6532 adds UTF-8; old programs put the charset of the body there. No octet
//! becomes U+FFFD: that would lose it for good.

use std::borrow::Cow;

use mail_parser::decoders::charsets::{DecoderFnc, map::charset_decoder};

const ESCAPE: u8 = 0x1b;
const UNREADABLE: char = '\u{fffd}';

/// The text of octets that name no charset: UTF-8 where they are that, else windows-1252.
pub fn text(octets: &[u8]) -> Cow<'_, str> {
    text_in(octets, None)
}

/// The text of some octets: UTF-8 if they are, else in the charset that the message names, else windows-1252.
///
/// Seven-bit octets with escape sequences are read in the named charset too, which is how ISO-2022-JP was sent.
pub fn text_in<'a>(octets: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let escaped = octets.is_ascii() && octets.contains(&ESCAPE);
    match std::str::from_utf8(octets) {
        Ok(text) if !escaped => return Cow::Borrowed(text),
        _ => {}
    }
    let named = charset.and_then(|charset| declared(charset, octets)).filter(|text| !text.contains('\u{1b}'));
    match (named, std::str::from_utf8(octets)) {
        (Some(text), _) => Cow::Owned(text),
        (None, Ok(text)) => Cow::Borrowed(text),
        (None, Err(_)) => Cow::Owned(guessed(octets)),
    }
}

/// The text of octets in a charset; `None` if they are not legal in it. Octets of an unknown charset are taken if they
/// are UTF-8.
pub(super) fn decode(charset: &str, octets: &[u8]) -> Option<String> {
    let utf8 = || std::str::from_utf8(octets).ok().map(str::to_owned);
    match decoder(charset) {
        Some(decoder) => Some(decoder(octets)).filter(|text| !text.contains(UNREADABLE)),
        None => utf8(),
    }
}

/// Whether we can read a charset.
pub(super) fn is_known(charset: &str) -> bool {
    is_utf8(charset) || decoder(charset).is_some()
}

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8"].iter().any(|name| charset.eq_ignore_ascii_case(name))
}

fn decoder(charset: &str) -> Option<DecoderFnc> {
    if is_utf8(charset) { None } else { charset_decoder(charset.as_bytes()) }
}

/// A header in the charset of the body. It has to be one in which the syntax of a header is ASCII; UTF-16 and UTF-7
/// are not.
fn declared(charset: &str, octets: &[u8]) -> Option<String> {
    const SYNTAX: &str = "Az <@>+-=?\"";
    let decoder = decoder(charset)?;
    let sane = decoder(SYNTAX.as_bytes()) == SYNTAX;
    sane.then(|| decoder(octets)).filter(|text| !text.contains(UNREADABLE))
}

/// Each run of octets outside ASCII as UTF-8 if it is, else as windows-1252.
fn guessed(octets: &[u8]) -> String {
    let chunks = octets.chunk_by(|one, next| one.is_ascii() == next.is_ascii());
    chunks.map(|chunk| std::str::from_utf8(chunk).map_or_else(|_| western(chunk), str::to_owned)).collect()
}

fn western(octets: &[u8]) -> String {
    let text = charset_decoder(b"windows-1252").map(|decoder| decoder(octets)).unwrap_or_default();
    text.replace(UNREADABLE, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_become_text_without_loss() {
        assert_eq!(text_in("Prüfung".as_bytes(), Some("iso-8859-5")), "Prüfung");
        assert_eq!(text_in(b"Pr\xfcfung", None), "Prüfung");
        assert_eq!(text_in(b"\x805 \x81", None), "€5 ?");
        assert_eq!(text_in(b"\xbf\xe0\xd8\xd2\xd5\xe2", Some("iso-8859-5")), "Привет");
        assert_eq!(text_in(b"\xf0\xd2\xc9\xd7\xc5\xd4", Some("KOI8-R")), "Привет");
        assert_eq!(text_in(b"\x83n\x83\x8D\x81[", Some("shift_jis")), "ハロー");
        assert_eq!(text_in(b"\xc4\xe3\xba\xc3", Some("GB2312")), "你好");
        assert_eq!(text_in(b"Caf\xe9 \xc3\xa9", None), "Café é");
        assert_eq!(text_in(b"\x1b$B%O%m!<\x1b(B", Some("iso-2022-jp")), "ハロー");
    }

    #[test]
    fn a_charset_that_is_none_for_headers_or_does_not_fit_is_not_used() {
        assert_eq!(text_in(b"\xe9 <a@b>", Some("utf-16le")), "é <a@b>");
        assert_eq!(text_in(b"a+b@c \xe9", Some("utf-7")), "a+b@c é");
        assert_eq!(text_in(b"\xff\xff", Some("shift_jis")), "ÿÿ");
        assert_eq!(text_in(b"\x1b[0m", Some("iso-8859-1")), "\u{1b}[0m");
        assert_eq!(text_in(b"\xe9", Some("no such charset")), "é");
    }

    #[test]
    fn decoding_is_strict() {
        assert_eq!(decode("utf-8", b"\xe9"), None);
        assert_eq!(decode("iso-8859-1", b"\xe9").as_deref(), Some("é"));
        assert_eq!(decode("unknown-8bit", "é".as_bytes()).as_deref(), Some("é"));
        assert_eq!(decode("unknown-8bit", b"\xe9"), None);
        assert!(is_known("UTF-8") && is_known("windows-1251") && !is_known("unknown-8bit"));
    }
}
