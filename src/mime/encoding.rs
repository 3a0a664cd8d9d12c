//! Content-Transfer-Encoding (RFC 2045 section 6).

/// How a body is encoded for its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Not at all: 7bit, 8bit, binary.
    Identity,
    /// quoted-printable.
    QuotedPrintable,
    /// base64.
    Base64,
    /// In a way that RFC 2045 does not know.
    Other,
}

impl Encoding {
    /// Reads the field's value; comments and a stray `;` mean nothing, and no value means 7bit.
    pub fn read(value: &[u8]) -> Self {
        let unfolded: Vec<u8> = value.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
        let end = unfolded.iter().position(|octet| matches!(octet, b';' | b'('));
        let word = unfolded.get(..end.unwrap_or(unfolded.len())).unwrap_or_default().trim_ascii();
        match word.to_ascii_lowercase().as_slice() {
            b"" | b"7bit" | b"8bit" | b"binary" => Self::Identity,
            b"quoted-printable" => Self::QuotedPrintable,
            b"base64" => Self::Base64,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_known_in_any_case() {
        assert_eq!(Encoding::read(b" 8BIT"), Encoding::Identity);
        assert_eq!(Encoding::read(b""), Encoding::Identity);
        assert_eq!(Encoding::read(b"\r\n Base64 (comment)"), Encoding::Base64);
        assert_eq!(Encoding::read(b"quoted-printable;"), Encoding::QuotedPrintable);
        assert_eq!(Encoding::read(b"x-uuencode"), Encoding::Other);
    }
}
