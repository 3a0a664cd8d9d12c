//! Text in raw octets, which name no charset of their own.

use std::borrow::Cow;

use mail_parser::decoders::charsets::map::charset_decoder;

/// Octets as text: UTF-8 where they are that, else Windows-1252, which includes what Latin-1 prints.
pub fn text(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => match charset_decoder(b"windows-1252") {
            Some(decoder) => Cow::Owned(decoder(octets)),
            None => String::from_utf8_lossy(octets),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_latin_1_are_told_apart() {
        assert_eq!(text("Größe".as_bytes()), "Größe");
        assert_eq!(text(b"Gr\xf6\xdfe"), "Größe");
        assert_eq!(text(b"10 \x80"), "10 €");
    }
}
