//! Where the header ends and where its fields lie (RFC 5322 sections 2.1 and 2.2).
//!
//! The reader is lenient about line ends, since repairs come later: CRLF, a lone LF and a lone CR each end a line, and
//! a run of CR before an LF is one line end.

use bytes::Bytes;
use memchr::{memchr_iter, memchr2};

use crate::mail::Message;

/// One line: where its content begins and ends, and where the next line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// First octet.
    pub start: usize,
    /// Behind the last octet of the content.
    pub content_end: usize,
    /// Behind the line end; equal to `content_end` only on a last line without one.
    pub end: usize,
}

/// The lines of some octets.
pub fn lines(octets: &[u8]) -> impl Iterator<Item = Line> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = octets.get(start..).filter(|rest| !rest.is_empty())?;
        let (content, ending) = match memchr2(b'\r', b'\n', rest) {
            Some(at) => (at, line_end(rest.get(at..).unwrap_or_default())),
            None => (rest.len(), 0),
        };
        let line = Line { start, content_end: start + content, end: start + content + ending };
        start = line.end;
        Some(line)
    })
}

/// Octets of the line end that stands at the beginning of `octets`.
fn line_end(octets: &[u8]) -> usize {
    let returns = octets.iter().take_while(|octet| **octet == b'\r').count();
    match octets.get(returns) {
        Some(b'\n') => returns + 1,
        _ => returns.min(1),
    }
}

/// Cuts a message at its first empty line, which goes to the rest.
pub fn split(raw: &Bytes) -> Message {
    let end = lines(raw).find(|line| line.content_end == line.start).map_or(raw.len(), |line| line.start);
    Message { head: raw.slice(..end), rest: raw.slice(end..) }
}

/// Where a field with its folded lines stands, or a line that is no field; together they cover the header without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// First octet.
    pub start: usize,
    /// Behind the name; equal to `start` where there is none that RFC 5322 allows, even in its obsolete form with blanks
    /// before the colon.
    pub name_end: usize,
    /// Behind the colon; the line's start where there is no name.
    pub value_start: usize,
    /// Before the final line end.
    pub value_end: usize,
    /// Behind the final line end.
    pub end: usize,
}

/// The fields of a header section, top down, each made into what the caller keeps.
///
/// Nearly every header has CRLF at the end of each line and CR nowhere else; that is taken for granted first and counted
/// afterwards, since one search for LF is all it needs. Any other header is read line by line.
pub(super) fn fields<T>(head: &[u8], make: impl Fn(Span) -> T) -> Vec<T> {
    collected(head, crlf_lines(head), &make).unwrap_or_else(|| {
        let lines = lines(head).map(Some);
        collected(head, lines, &make).unwrap_or_default()
    })
}

/// The lines of a header whose line ends are all CRLF; `None` for the first that is not, or if there are more CR.
fn crlf_lines(head: &[u8]) -> impl Iterator<Item = Option<Line>> + '_ {
    let (mut start, mut returns) = (0, 0);
    let mut ends = memchr_iter(b'\n', head);
    std::iter::from_fn(move || match ends.next() {
        Some(at) => {
            let line = Line { start, content_end: at.wrapping_sub(1), end: at + 1 };
            (start, returns) = (at + 1, returns + 1);
            let ended = line.content_end >= line.start && head.get(line.content_end) == Some(&b'\r');
            Some(ended.then_some(line))
        }
        None if memchr_iter(b'\r', head).count() > returns => Some(None),
        None => {
            let line = Line { start, content_end: head.len(), end: head.len() };
            start = head.len();
            (line.start < line.end).then_some(Some(line))
        }
    })
}

fn collected<T>(head: &[u8], lines: impl Iterator<Item = Option<Line>>, make: impl Fn(Span) -> T) -> Option<Vec<T>> {
    // A field has about 70 octets; one allocation holds them all.
    let mut fields = Vec::with_capacity(head.len() / 64 + 4);
    let mut last = Span::default();
    for line in lines {
        let line = line?;
        if line.start > 0 && matches!(head.get(line.start), Some(b' ' | b'\t')) {
            (last.value_end, last.end) = (line.content_end, line.end);
        } else {
            if last.end > 0 {
                fields.push(make(last));
            }
            last = first_line(head, line);
        }
    }
    if last.end > 0 {
        fields.push(make(last));
    }
    Some(fields)
}

/// How many octets of `ftext` (RFC 5322 section 3.6.8) stand at the beginning; eight are looked at in one go.
fn name_length(content: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // Each sets the high bit of the first octet that is meant, and perhaps of ones behind it.
    let below = |word: u64, octet: u8| word.wrapping_sub(ONES * u64::from(octet)) & !word & HIGH;
    let equal = |word: u64, octet: u8| below(word ^ (ONES * u64::from(octet)), 1);
    let mut length = 0;
    while let Some(eight) = content.get(length..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let ends = below(word, b'!') | equal(word, b':') | equal(word, 0x7f) | word & HIGH;
        if ends != 0 {
            return length + ends.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let is_name = |octet: &u8| octet.is_ascii_graphic() && *octet != b':';
    length + content.iter().skip(length).take_while(|octet| is_name(octet)).count()
}

fn first_line(head: &[u8], line: Line) -> Span {
    let content = head.get(line.start..line.content_end).unwrap_or_default();
    let name = name_length(content);
    let colon = match content.get(name) {
        Some(b':') => name,
        _ => name + content.iter().skip(name).take_while(|octet| matches!(octet, b' ' | b'\t')).count(),
    };
    let span = Span { start: line.start, value_end: line.content_end, end: line.end, ..Span::default() };
    if name > 0 && content.get(colon) == Some(&b':') {
        Span { name_end: line.start + name, value_start: line.start + colon + 1, ..span }
    } else {
        Span { name_end: line.start, value_start: line.start, ..span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(raw: &str) -> (String, String) {
        let message = split(&Bytes::from(raw.to_owned()));
        (String::from_utf8(message.head.to_vec()).unwrap(), String::from_utf8(message.rest.to_vec()).unwrap())
    }

    #[test]
    fn the_header_ends_at_the_first_empty_line() {
        assert_eq!(cut("A: b\r\n\r\nx\r\n"), ("A: b\r\n".into(), "\r\nx\r\n".into()));
        assert_eq!(cut("A: b\n\nx"), ("A: b\n".into(), "\nx".into()));
        assert_eq!(cut("A: b\r\rx"), ("A: b\r".into(), "\rx".into()));
        assert_eq!(cut("A: b\r\r\nB: c\r\r\n\r\r\nx"), ("A: b\r\r\nB: c\r\r\n".into(), "\r\r\nx".into()));
        assert_eq!(cut("A: b"), ("A: b".into(), String::new()));
        assert_eq!(cut("\r\nx"), (String::new(), "\r\nx".into()));
        assert_eq!(cut(""), (String::new(), String::new()));
    }

    #[test]
    fn spans_cover_the_header_without_a_gap() {
        let head = b"A: b\r\n c\r\nno colon\r\n: empty\r\nB :d\r\n\tx\r\nC:";
        let spans: Vec<Span> = fields(head, |span| span);
        assert_eq!(spans.first().map(|span| span.start), Some(0));
        assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(spans.last().map(|span| span.end), Some(head.len()));
        let names: Vec<_> = spans.iter().map(|span| &head[span.start..span.name_end]).collect();
        assert_eq!(names, [&b"A"[..], b"", b"", b"B", b"C"]);
        assert_eq!(&head[spans[0].value_start..spans[0].value_end], b" b\r\n c");
    }

    #[test]
    fn the_quick_way_and_the_careful_way_agree() {
        let pieces = ["A: b\r\n", "\tc\r\n", "B: c\n", "C: d\re\r\n", "\r\n", "no colon\r\r\n", "D:"];
        let mut heads: Vec<String> = vec![String::new()];
        for _ in 0..3 {
            let longer = heads.iter().flat_map(|head| pieces.iter().map(move |piece| format!("{head}{piece}")));
            heads.extend(longer.collect::<Vec<_>>());
        }
        for head in heads {
            let careful = collected(head.as_bytes(), lines(head.as_bytes()).map(Some), |span| span);
            assert_eq!(Some(fields(head.as_bytes(), |span| span)), careful, "{head:?}");
        }
    }

    #[test]
    fn a_name_ends_at_the_first_octet_that_is_none_of_ftext() {
        for octet in 0..=u8::MAX {
            for length in 0..20 {
                let mut content = vec![b'x'; length];
                content.push(octet);
                content.extend_from_slice(b"yz:0123456789");
                let is_name = octet.is_ascii_graphic() && octet != b':';
                assert_eq!(name_length(&content), if is_name { length + 3 } else { length }, "{octet} behind {length}");
            }
        }
        assert_eq!((name_length(b""), name_length(b"abcdefghij")), (0, 10));
    }
}
