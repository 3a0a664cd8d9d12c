//! Folding of fields that came with lines over the limit (RFC 5322 sections 2.1.1 and 2.2.3).

use memchr::memchr;

use super::{
    FieldName, Line, fold, lines,
    places::{Grammar, Place, places},
    text, word,
};

/// Octets of a line at most, and those it should not exceed.
pub const LINE_MAX: usize = 998;
const PREFERRED: usize = 78;

/// Whether a line is over the limit.
pub fn has_long_line(octets: &[u8]) -> bool {
    let mut rest = octets;
    while rest.len() > LINE_MAX {
        let Some(end) = memchr(b'\n', rest) else { return true };
        let line = rest.get(..end).unwrap_or_default();
        if line.len() > LINE_MAX && line.strip_suffix(b"\r").unwrap_or(line).len() > LINE_MAX {
            return true;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    false
}

/// A field, with its final line end, whose lines are within the limit; nothing where its grammar does not allow that.
///
/// Only lines over the limit are touched. A text that has no white space where it would be needed becomes encoded-words,
/// which decode to the same text.
pub fn refold(field: &[u8]) -> Option<Vec<u8>> {
    let colon = memchr(b':', field)?;
    let name = std::str::from_utf8(field.get(..colon)?.trim_ascii_end()).ok()?;
    let grammar = FieldName::parse(name).ok().map(|name| Grammar::of(name.as_str()))?;
    let all = places(grammar, field, colon);
    let outside: Vec<Place> = all.iter().copied().filter(|place| !place.inside).collect();
    let folded = folded(field, colon, &outside).or_else(|| folded(field, colon, &all));
    match grammar {
        Grammar::Text => folded.or_else(|| encoded(name, field, colon)),
        _ => folded,
    }
}

fn folded(field: &[u8], colon: usize, places: &[Place]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(field.len() + field.len() / 16);
    let mut rest = places;
    for line in lines(field) {
        let (mine, later) = rest.split_at(rest.partition_point(|place| place.at < line.content_end));
        rest = later;
        if line.content_end - line.start > LINE_MAX {
            let longest = fold_line(field, (line, colon + 1), mine, &mut out);
            if longest > LINE_MAX {
                return None;
            }
        } else {
            out.extend_from_slice(field.get(line.start..line.content_end)?);
        }
        out.extend_from_slice(field.get(line.content_end..line.end)?);
    }
    Some(out)
}

/// Writes a line in several; gives the length of the longest.
fn fold_line(field: &[u8], (line, value): (Line, usize), places: &[Place], out: &mut Vec<u8>) -> usize {
    let (mut start, mut bare, mut column, mut longest) = (line.start, false, 0, 0);
    let end = Place { at: line.content_end, bare: false, inside: false };
    for place in places.iter().chain([&end]) {
        let piece = field.get(start..place.at).unwrap_or_default();
        // A line with nothing but the name on it is legal, and better avoided.
        let limit = if start == value { LINE_MAX } else { PREFERRED };
        if column > 0 && column + piece.len() > limit && !piece.trim_ascii().is_empty() {
            out.extend_from_slice(if bare { b"\r\n " } else { b"\r\n" });
            column = usize::from(bare);
        }
        out.extend_from_slice(piece);
        column += piece.len();
        longest = longest.max(column);
        (start, bare) = (place.at, place.bare);
    }
    longest
}

fn encoded(name: &str, field: &[u8], colon: usize) -> Option<Vec<u8>> {
    let value = text(field.get(colon + 1..)?);
    let words = word::encode_unstructured(&word::decode(value.as_bytes()));
    let mut folded = fold(name, &words).into_bytes();
    if !field.ends_with(b"\n") {
        folded.truncate(folded.len() - 2);
    }
    (!has_long_line(&folded)).then_some(folded)
}

#[cfg(test)]
mod tests {
    use mail_parser::MessageParser;
    use proptest::prelude::*;

    use super::*;

    fn refolded(field: &str) -> String {
        let folded = refold(field.as_bytes()).unwrap_or_else(|| panic!("{field}"));
        assert!(!has_long_line(&folded));
        String::from_utf8(folded).unwrap()
    }

    fn unfolded(field: &str) -> String {
        field.replace("\r\n", "")
    }

    #[test]
    fn long_lines_are_seen() {
        for (length, ending, long) in [(998, "\r\n", false), (999, "\r\n", true), (998, "", false), (999, "\n", true)] {
            let octets = format!("a\r\n{}{ending}", "x".repeat(length));
            assert_eq!(has_long_line(octets.as_bytes()), long, "{length}");
        }
    }

    #[test]
    fn white_space_is_enough_for_most() {
        let ids = "<0123456789@mail.example.com> ".repeat(50);
        let field = format!("References: {ids}\r\n");
        assert_eq!(unfolded(&refolded(&field)), unfolded(&field));
        assert!(refolded(&field).lines().all(|line| line.len() <= 78 && !line.trim().is_empty()));
        let text = format!("Subject: {}end\r\n\tsecond line\r\n", "word ".repeat(300));
        assert_eq!(unfolded(&refolded(&text)), unfolded(&text));
        assert!(refolded(&text).ends_with(" end\r\n\tsecond line\r\n"));
    }

    #[test]
    fn a_line_is_broken_behind_the_name_only_if_it_must_be() {
        let long = format!("Message-ID: <{}@example.com>\r\n", "x".repeat(980));
        assert_eq!(refolded(&long), long.replace(": ", ":\r\n "));
        let id = format!("References:<{}@example.com><b@example.com>\r\n", "x".repeat(960));
        assert_eq!(refolded(&id), id.replace("><", ">\r\n <"));
    }

    #[test]
    fn addresses_are_parted_behind_their_commas() {
        let list: Vec<String> = (0..60).map(|one| format!("\"N, {one}\" <user{one}@dept.example.net>")).collect();
        let field = refolded(&format!("To: {}\r\n", list.join(",")));
        assert!(field.lines().all(|line| line.len() <= 78 && !line.contains("\"N,\r")));
        let raw = format!("{field}\r\n");
        let message = MessageParser::default().parse(raw.as_bytes()).unwrap();
        let read: Vec<_> =
            message.to().unwrap().iter().map(|one| (one.name().unwrap(), one.address().unwrap())).collect();
        assert_eq!(read.len(), 60);
        assert_eq!(read[59], ("N, 59", "user59@dept.example.net"));
    }

    #[test]
    fn a_signature_may_be_folded_anywhere_in_its_base64() {
        let data = "Ab+/".repeat(400);
        let field = format!("DKIM-Signature: v=1; a=rsa-sha256; d=example.com; h=From:To; bh={data}=; b={data}\r\n");
        let folded = refolded(&field);
        assert!(folded.lines().all(|line| line.len() <= 78));
        assert_eq!(unfolded(&folded).replace(' ', ""), unfolded(&field).replace(' ', ""));
        assert!(refold(format!("DKIM-Signature: d={}\r\n", "x".repeat(1000)).as_bytes()).is_none());
    }

    #[test]
    fn quoted_blanks_are_the_last_resort() {
        let name = "word ".repeat(200);
        let field = format!("Content-Type: a/b; charset=x; name=\"{name}\"; c=d\r\n");
        assert_eq!(unfolded(&refolded(&field)), unfolded(&field));
        assert!(refolded(&field.replace(&name, "word ")).contains("; c=d"));
    }

    #[test]
    fn text_without_white_space_is_encoded() {
        let link = format!("https://example.com/?{}", "a1".repeat(600));
        let field = refolded(&format!("X-Link: {link}\r\n"));
        assert!(field.lines().all(|line| line.len() <= "X-Link: ".len() + 75));
        assert_eq!(word::decode(&field.as_bytes()["X-Link:".len()..]), link);
        let latin = [b"Subject: ", [0xfc; 1200].as_slice()].concat();
        let folded = refold(&latin).unwrap();
        assert!(!folded.ends_with(b"\n"));
        assert_eq!(word::decode(&folded["Subject:".len()..]), "ü".repeat(1200));
        assert!(refold(format!("Return-Path: <{}>\r\n", "x".repeat(1200)).as_bytes()).is_none());
        assert!(refold(format!("no field {}\r\n", "x".repeat(1200)).as_bytes()).is_none());
    }

    const NAMES: &[&str] =
        &["To", "Subject", "DKIM-Signature", "Content-Type", "References", "List-Unsubscribe", "Date"];

    proptest! {
        #[test]
        fn what_is_refolded_says_the_same(
            name in 0..NAMES.len(),
            value in "([a-z<>,;:\"()=\\\\é]{0,400}[ \t]{0,3}(\r\n [a-z]{1,9})?){0,9}",
        ) {
            let field = format!("{}:{value}\r\n", NAMES[name]);
            if let Some(folded) = refold(field.as_bytes()) {
                prop_assert!(!has_long_line(&folded));
                let pure = |octets: &[u8]| {
                    let text: Vec<u8> = octets.iter().copied().filter(|octet| !octet.is_ascii_whitespace()).collect();
                    if has_long_line(field.as_bytes()) && NAMES[name] == "Subject" { word::decode(octets).split_ascii_whitespace().collect::<String>().into_bytes() } else { text }
                };
                prop_assert_eq!(pure(&folded), pure(field.as_bytes()));
                prop_assert_eq!(refold(&folded), Some(folded.clone()));
            }
        }

        #[test]
        fn no_octets_end_it(field in proptest::collection::vec(any::<u8>(), 0..300), name in 0..NAMES.len()) {
            let long = [NAMES[name].as_bytes(), b":", field.as_slice(), &[b'x'; 990], field.as_slice()].concat();
            if let Some(folded) = refold(&long) {
                prop_assert!(lines(&folded).all(|line| line.content_end - line.start <= LINE_MAX));
            }
        }
    }
}
