//! quoted-printable (RFC 2045 section 6.7).

/// Characters of a line, without the `=` of a soft line break (rule 5).
const LINE: usize = 75;

/// Encodes a text: CRLF stays a line break (rule 4), and all else decodes to the very octets.
pub fn encode(octets: &[u8]) -> Vec<u8> {
    let mut lines = Lines::with_capacity(octets.len());
    let mut at = 0;
    while let Some(rest) = octets.get(at..).filter(|rest| !rest.is_empty()) {
        at += match rest {
            [b'\r', b'\n', ..] => lines.end(b"\r\n"),
            // Rule 3: a blank before a line end would get lost.
            [blank @ (b' ' | b'\t')] | [blank @ (b' ' | b'\t'), b'\r', b'\n', ..] => lines.coded(*blank),
            [octet @ (b' ' | b'\t'), ..] => lines.plain(*octet, rest),
            [octet, ..] if octet.is_ascii_graphic() && *octet != b'=' => lines.plain(*octet, rest),
            [octet, ..] => lines.coded(*octet),
            [] => 1,
        };
    }
    lines.out
}

/// Gives an encoded text lines of legal length, and codes its NUL octets; only the lines that need it are touched.
pub fn rewrap(octets: &[u8], longest: usize) -> Vec<u8> {
    let mut lines = Lines::with_capacity(octets.len());
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let ended = line.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let content = ended.unwrap_or(line);
        let ending = line.get(content.len()..).unwrap_or_default();
        if content.len() <= longest && !content.contains(&0) {
            lines.out.extend_from_slice(content);
        } else {
            lines.wrap(content);
        }
        lines.end(ending);
    }
    lines.out
}

/// Lines while they are written.
struct Lines {
    out: Vec<u8>,
    column: usize,
}

impl Lines {
    fn with_capacity(octets: usize) -> Self {
        Self { out: Vec::with_capacity(octets + octets / 8), column: 0 }
    }

    /// Ends the line; gives the octets that were read for it.
    fn end(&mut self, ending: &[u8]) -> usize {
        self.out.extend_from_slice(ending);
        self.column = 0;
        ending.len()
    }

    /// Puts what must not be torn apart on the line, or on a new one behind a soft line break.
    fn put(&mut self, unit: &[u8]) {
        if self.column + unit.len() > LINE {
            self.out.extend_from_slice(b"=\r\n");
            self.column = 0;
        }
        self.out.extend_from_slice(unit);
        self.column += unit.len();
    }

    fn coded(&mut self, octet: u8) -> usize {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
        self.put(&[b'=', digit(octet >> 4), digit(octet & 15)]);
        1
    }

    /// An octet that may stand for itself, unless what begins with it at the start of a line would mean something: the end
    /// of the mail (RFC 5321 section 4.5.2), the next mail of a mailbox (RFC 4155), the next part.
    fn plain(&mut self, octet: u8, rest: &[u8]) -> usize {
        let begins = self.column == 0 || self.column == LINE;
        let means = rest.starts_with(b".") || rest.starts_with(b"From ") || rest.starts_with(b"--");
        if begins && means {
            return self.coded(octet);
        }
        self.put(&[octet]);
        1
    }

    /// An encoded line that is too long.
    fn wrap(&mut self, content: &[u8]) {
        let text = content.trim_ascii_end();
        let soft = text.strip_suffix(b"=");
        let whole = soft.unwrap_or(content);
        let mut at = 0;
        while let Some(rest) = whole.get(at..).filter(|rest| !rest.is_empty()) {
            at += match rest {
                [b'=', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    self.put(&[b'=', *high, *low]);
                    3
                }
                [octet @ (0 | b'='), ..] => self.coded(*octet),
                [octet, ..] => self.plain(*octet, rest),
                [] => 1,
            };
        }
        if soft.is_some() {
            self.out.push(b'=');
        }
    }
}

#[cfg(test)]
mod tests {
    use mail_parser::decoders::quoted_printable::quoted_printable_decode;
    use proptest::prelude::*;

    use super::*;

    fn text(octets: &[u8]) -> String {
        String::from_utf8(octets.to_vec()).unwrap()
    }

    #[test]
    fn the_rules_of_the_encoding() {
        assert_eq!(text(&encode(b"a b\t\r\n = \r\n")), "a b=09\r\n =3D=20\r\n");
        assert_eq!(text(&encode("Grüße\u{0}".as_bytes())), "Gr=C3=BC=C3=9Fe=00");
        assert_eq!(text(&encode(b"lone\rand\nand end ")), "lone=0Dand=0Aand end=20");
        assert_eq!(text(&encode(b".\r\nFrom here\r\n--b\r\n- From\r\n")), "=2E\r\n=46rom here\r\n=2D-b\r\n- From\r\n");
        let long = text(&encode("x".repeat(76).as_bytes()));
        assert_eq!(long, format!("{}=\r\nx", "x".repeat(75)));
        let dots = text(&encode(format!("{}.From --", "x".repeat(75)).as_bytes()));
        assert_eq!(dots, format!("{}=\r\n=2EFrom --", "x".repeat(75)));
    }

    #[test]
    fn encoded_lines_are_rewrapped_between_units() {
        let line = format!("short\r\n{}=C3=BC{}=  \r\nnext\r\n", "x".repeat(73), "y".repeat(1000));
        let mended = text(&rewrap(line.as_bytes(), 998));
        assert!(mended.starts_with(&format!("short\r\n{}=\r\n=C3=BCyy", "x".repeat(73))), "{mended}");
        assert!(mended.ends_with("yy=\r\nnext\r\n") && mended.lines().all(|line| line.len() <= 76));
        assert_eq!(quoted_printable_decode(mended.as_bytes()), quoted_printable_decode(line.as_bytes()));
        assert_eq!(text(&rewrap(b"a\0b=\r\nc=3D", 998)), "a=00b=\r\nc=3D");
        assert_eq!(text(&rewrap(b"a=b=\n", 2)), "a=3Db=\n");
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_the_same_octets(
            octets in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n'), Just(b'\r'), Just(b'-')], 0..400),
        ) {
            let encoded = encode(&octets);
            prop_assert!(encoded.split(|octet| *octet == b'\n').all(|line| line.len() <= 77 && !line.ends_with(b" \r")));
            prop_assert!(encoded.iter().all(|octet| octet.is_ascii_graphic() || b" \t\r\n".contains(octet)));
            prop_assert_eq!(quoted_printable_decode(&encoded).unwrap_or_default(), octets);
            prop_assert_eq!(rewrap(&encoded, 76), encoded);
        }

        #[test]
        fn what_is_rewrapped_decodes_to_the_same_octets(octets in proptest::collection::vec(any::<u8>(), 0..900)) {
            let encoded = text(&encode(&octets)).replace("=\r\n", "").into_bytes();
            let mended = rewrap(&encoded, 76);
            prop_assert!(mended.split(|octet| *octet == b'\n').all(|line| line.len() <= 77));
            prop_assert_eq!(quoted_printable_decode(&mended), quoted_printable_decode(&encoded));
            prop_assert_eq!(rewrap(&mended, 76), mended);
        }
    }
}
