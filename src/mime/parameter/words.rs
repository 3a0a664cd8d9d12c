//! Encoded-words where RFC 2047 section 5 forbids them and mailers put them all the same: in file names.

use mail_parser::parsers::MessageStream;
use memchr::memmem;

use crate::header;

/// The text of a value that holds encoded-words; nothing if it holds none, or one that cannot be read.
pub(super) fn decode(value: &[u8]) -> Option<String> {
    let (mut text, mut rest, mut behind_word) = (String::new(), value, false);
    while let Some(start) = memmem::find(rest, b"=?") {
        let between = rest.get(..start)?;
        if !behind_word || !between.trim_ascii().is_empty() {
            text.push_str(&header::text(between));
        }
        let word = rest.get(start..)?;
        let length = word_length(word)?;
        text.push_str(&MessageStream::new(word.get(1..length)?).decode_rfc2047()?);
        (rest, behind_word) = (word.get(length..)?, true);
    }
    text.push_str(&header::text(rest));
    (behind_word && !text.contains("=?") && !text.contains('\u{fffd}')).then_some(text)
}

/// Octets of the encoded-word that stands here: `=?charset?encoding?text?=`.
fn word_length(word: &[u8]) -> Option<usize> {
    let marks = memchr::memchr_iter(b'?', word).nth(2)?;
    let text = word.get(marks + 1..)?;
    Some(marks + 1 + memmem::find(text, b"?=")? + b"?=".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_if_all_of_them_can_be() {
        assert_eq!(decode(b"=?utf-8?B?w7wucGRm?=").as_deref(), Some("ü.pdf"));
        assert_eq!(decode(b"=?iso-8859-1?Q?=FC?=.pdf").as_deref(), Some("ü.pdf"));
        assert_eq!(decode(b"a =?utf-8?Q?b?= =?utf-8?Q?_c?= d").as_deref(), Some("a b c d"));
        assert_eq!(decode(b"plain.pdf"), None);
        assert_eq!(decode(b"=?what.pdf"), None);
        assert_eq!(decode(b"=?utf-8?Q?=FF?="), None);
    }
}
