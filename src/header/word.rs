//! RFC 2047: text that is not ASCII in a header.

use mail_parser::{HeaderValue, parsers::MessageStream};

use super::encode::{encode, encode_run, pieces};

/// Octets of a word that can still be folded to lines of 998 (RFC 5322 section 2.1.1).
const FOLDABLE: usize = 900;

/// The text of an unfolded or folded value, its encoded-words decoded; octets that are no UTF-8 become U+FFFD.
pub fn decode(value: &[u8]) -> String {
    let plain = std::str::from_utf8(value).ok().filter(|text| !text.contains("=?") && !text.contains(['\r', '\n']));
    if let Some(text) = plain {
        return text.trim_matches([' ', '\t']).to_owned();
    }
    let mut unfolded: Vec<u8> = value.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
    if !unfolded.windows(2).any(|pair| pair == b"=?") {
        return String::from_utf8_lossy(&unfolded).trim_matches([' ', '\t']).to_owned();
    }
    unfolded.push(b'\n');
    match MessageStream::new(&unfolded).parse_unstructured() {
        HeaderValue::Text(text) => text.trim_matches([' ', '\t']).to_owned(),
        _ => String::new(),
    }
}

/// A text for an unstructured field: as it is when it is printable ASCII, else with the words that need it encoded.
///
/// Each encoded-word has at most 75 characters and is valid alone (RFC 2047 sections 2 and 5). A text that holds what
/// could be taken for an encoded-word is encoded as a whole.
pub fn encode_unstructured(text: &str) -> String {
    let is_foreign = |word: &str| !word.is_ascii() || word.len() > FOLDABLE;
    if text.contains("=?") { encode_run(text).join(" ") } else { encode(&pieces(text, is_foreign)) }
}

/// A text without line ends, NUL and other controls, so that nothing in it can end or begin a field.
pub fn printable(text: &str) -> String {
    if is_plain(text.as_bytes()) {
        return text.to_owned();
    }
    text.chars().map(|one| if one.is_control() && one != '\t' { ' ' } else { one }).collect()
}

/// Whether octets are ASCII and none is a control but a tab. It looks at all of them, since many are looked at in one go.
pub fn is_plain(octets: &[u8]) -> bool {
    let odd = |octet: u8| !matches!(octet, b' '..=b'~' | b'\t');
    !octets.iter().fold(false, |any, octet| any | odd(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding() {
        assert_eq!(decode(b" plain text "), "plain text");
        assert_eq!(decode(b" =?utf-8?q?=C3=A9t=C3=A9?=\r\n =?iso-8859-1?b?6Q==?="), "étéé");
        assert_eq!(decode(b" folded\r\n text"), "folded text");
        assert_eq!(decode(b" a\xff"), "a\u{fffd}");
    }

    #[test]
    fn every_encoded_word_is_short_and_valid_alone() {
        for text in [
            "é",
            "Ünï cödé",
            "日本語のとても長い件名がここにありますので折り返されなければなりません",
            "=?looks like one",
        ] {
            let encoded = encode_unstructured(text);
            assert!(
                encoded.split(' ').all(|word| word.len() <= 75 && word.starts_with("=?") && word.ends_with("?=")),
                "{encoded}"
            );
            assert_eq!(decode(encoded.as_bytes()), text);
            let joined: String = encoded.split(' ').map(|word| decode(word.as_bytes())).collect();
            assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
        }
        assert_eq!(encode_unstructured("plain"), "plain");
    }

    #[test]
    fn nothing_in_a_value_can_begin_a_field() {
        assert_eq!(printable("a\r\nBcc: x\0y"), "a  Bcc: x y");
    }
}
