//! The header of the message that a report is about, as far as a report shows it.

use bytes::Bytes;

use crate::{
    header::{self, LINE_MAX, decoded, lines},
    mail::{Message, is_atext},
    mime::quoted_printable,
};

/// Octets of the header that are sent back.
const SHOWN: usize = 32 * 1024;
/// Octets of a message that is sent back whole.
const WHOLE: usize = 64 * 1024;
/// Octets of a Message-ID that is repeated.
const MESSAGE_ID: usize = 250;

/// A header that was read.
pub(super) struct Header(header::Header);

impl Header {
    /// Reads a header section; what stands behind an empty line is none of it.
    pub(super) fn read(head: &Bytes) -> Self {
        Self(header::Header::parse(&header::split(head).head))
    }

    /// The text of the first field of a name, decoded, on one line of at most so many characters.
    pub(super) fn text(&self, name: &str, longest: usize) -> Option<String> {
        let at = self.0.find(name).next()?;
        let text = one_line(&decoded(&header::text(&self.0.unfolded(at))), longest);
        (!text.is_empty()).then_some(text)
    }

    /// What stands between the angle brackets of the one Message-ID, if it is well-formed (RFC 5322 section 3.6.4).
    pub(super) fn message_id(&self) -> Option<String> {
        let mut all = self.0.find("Message-ID");
        let (Some(at), None) = (all.next(), all.next()) else { return None };
        let value = String::from_utf8(self.0.unfolded(at).into_owned()).ok()?;
        let id = value.strip_prefix('<')?.strip_suffix('>')?;
        let (left, right) = id.split_once('@')?;
        let literal = right.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_right = literal.map_or_else(|| is_dot_atom(right), |inside| inside.bytes().all(is_dtext));
        (id.len() <= MESSAGE_ID && is_dot_atom(left) && is_right).then(|| id.to_owned())
    }

    /// The name of a transfer encoding, and the fields in it: whole ones, as many as there is room for.
    ///
    /// RFC 6522 section 4: quoted-printable only for what is not legal otherwise.
    pub(super) fn encoded(&self) -> (&'static str, Vec<u8>) {
        let mut out = Vec::new();
        for field in self.0.positions().map(|at| self.0.whole(at)).filter(|field| field.len() <= SHOWN) {
            let before = out.len();
            for line in lines(field) {
                out.extend_from_slice(field.get(line.start..line.content_end).unwrap_or_default());
                out.extend_from_slice(b"\r\n");
            }
            if out.len() > SHOWN {
                out.truncate(before);
            }
        }
        match out.split(|octet| *octet == b'\n').all(is_legal) {
            true => ("7bit", out),
            false => ("quoted-printable", quoted_printable::encode(&out)),
        }
    }
}

/// A message that can be sent back whole: `message/rfc822` takes no encoding (RFC 2046 section 5.2.1), so it is one of
/// short ASCII lines with CRLF, and not too large.
pub(super) fn whole(message: &Message) -> Option<Bytes> {
    if message.len() > WHOLE {
        return None;
    }
    let octets = message.to_bytes();
    let text = octets.strip_suffix(b"\r\n")?;
    let ends_in_cr = |line: &[u8]| line.ends_with(b"\r");
    let mut lines = text.split(|octet| *octet == b'\n').peekable();
    while let Some(line) = lines.next() {
        if !is_legal(line) || lines.peek().is_some() != ends_in_cr(line) {
            return None;
        }
    }
    Some(octets)
}

/// Whether a line, with its CR or without, may be sent as it is.
fn is_legal(line: &[u8]) -> bool {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    text.len() <= LINE_MAX && text.iter().all(|octet| matches!(octet, b'\t' | b' '..=b'~'))
}

/// A text without controls, line ends of any kind and marks that turn its direction; cut where it is long.
fn one_line(text: &str, longest: usize) -> String {
    let is_turn =
        |one: char| matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_line = |one: char| one.is_control() || matches!(one, '\u{2028}' | '\u{2029}');
    let safe: String =
        text.chars().filter(|one| !is_turn(*one)).map(|one| if is_line(one) { ' ' } else { one }).collect();
    let safe = safe.trim();
    match safe.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}...", safe.get(..cut).unwrap_or_default().trim_end()),
        None => safe.to_owned(),
    }
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext))
}

/// RFC 5322 section 3.4.1.
fn is_dtext(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"[]\\".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &[u8]) -> Header {
        Header::read(&Bytes::copy_from_slice(head))
    }

    #[test]
    fn a_text_is_decoded_and_stays_on_its_line() {
        let header =
            read(b"Subject: =?utf-8?q?=C3=A9t=C3=A9=0D=0A.=0D=0A?=\r\n and\xe9\r\nsubject: second\r\nDate:\r\n");
        assert_eq!(header.text("subject", 99).as_deref(), Some("été  .   andé"));
        assert_eq!(header.text("Date", 99), None);
        assert_eq!(one_line("a\u{2028}b\u{202e}c", 99), "a bc");
        assert_eq!(one_line("日本語の件名", 3), "日本語...");
    }

    #[test]
    fn only_a_well_formed_message_id_is_repeated() {
        let id = |value: &str| read(format!("Message-ID: {value}\r\n").as_bytes()).message_id();
        assert_eq!(id("<a.b+c@example.com>").as_deref(), Some("a.b+c@example.com"));
        assert_eq!(id("<a@[192.0.2.1]>").as_deref(), Some("a@[192.0.2.1]"));
        assert_eq!(id("\r\n <a@b>").as_deref(), Some("a@b"));
        let long = format!("<{}@b>", "a".repeat(MESSAGE_ID));
        for wrong in
            ["a@b", "<a>", "<a@b> x", "<a@b@c>", "<a b@c>", "<a@b><c@d>", "<\u{e9}@b>", "<a..b@c>", "<@>", &long]
        {
            assert_eq!(id(wrong), None, "{wrong}");
        }
        assert_eq!(read(b"Message-ID: <a@b>\r\nMessage-Id: <c@d>\r\n").message_id(), None);
    }

    #[test]
    fn a_header_is_encoded_only_if_it_must() {
        assert_eq!(read(b"A: b\n\tc\r\nD: e\r\n\r\nbody").encoded(), ("7bit", b"A: b\r\n\tc\r\nD: e\r\n".to_vec()));
        assert_eq!(read(b"A: \xe9=\r\n").encoded(), ("quoted-printable", b"A: =E9=3D\r\n".to_vec()));
        assert_eq!(read(b"A: \0").encoded().0, "quoted-printable");
        let long = [b"A: ".as_slice(), &b"x".repeat(996), b"\r\n"].concat();
        assert_eq!(read(&long).encoded().0, "quoted-printable");
    }

    #[test]
    fn a_message_comes_back_whole_only_if_it_can_travel_as_it_is() {
        let message = |octets: &[u8]| crate::header::split(&Bytes::copy_from_slice(octets));
        let plain = b"A: b\r\n\r\n.\r\n\tx ~\r\n";
        assert_eq!(whole(&message(plain)).as_deref(), Some(&plain[..]));
        let long = [&b"A: b\r\n\r\n"[..], &[b'x'; LINE_MAX + 1], b"\r\n"].concat();
        let large = [&b"A: b\r\n\r\n"[..], &b"xxxxxxxx\r\n".repeat(WHOLE / 10)].concat();
        for other in [
            b"A: b\r\n\r\nx",
            &b"A: b\r\n\r\nx\ny\r\n"[..],
            b"A: b\r\n\r\nx\ry\r\n",
            b"A: b\r\n\r\n\xe9\r\n",
            b"A: b\r\n\r\n\0\r\n",
            &long,
            &large,
            b"",
        ] {
            assert_eq!(whole(&message(other)), None, "{}", String::from_utf8_lossy(other.get(..20).unwrap_or(other)));
        }
    }

    #[test]
    fn a_large_header_is_shown_in_whole_fields() {
        let large = format!("A: {}\r\nB: c\r\n", "x ".repeat(SHOWN));
        assert_eq!(read(large.as_bytes()).encoded().1, b"B: c\r\n");
        let many = "Name: value\r\n".repeat(10_000);
        let shown = read(many.as_bytes()).encoded().1;
        assert!(shown.len() <= SHOWN && shown.len() > SHOWN - 20 && shown.ends_with(b"Name: value\r\n"));
    }
}
