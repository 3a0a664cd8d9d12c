//! Where the header ends and where its fields lie (RFC 5322 sections 2.1 and 2.2).
//!
//! The reader is lenient about line ends, since repairs come later: CRLF, a lone LF and a lone CR each end a line, and
//! a run of CR before an LF is one line end.

use std::{num::NonZeroU32, ops::Range};

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

/// The lines of some octets, in linear time.
pub fn lines(octets: &[u8]) -> impl Iterator<Item = Line> + '_ {
    // Up to `lone` a run of CR goes that no LF follows; each of them is found to be lone without a look at the others.
    let (mut start, mut lone) = (0, 0);
    std::iter::from_fn(move || {
        let rest = octets.get(start..).filter(|rest| !rest.is_empty())?;
        let content_end = memchr2(b'\r', b'\n', rest).map_or(octets.len(), |at| start + at);
        let end = if content_end < lone { content_end + 1 } else { line_end(octets, content_end, &mut lone) };
        let line = Line { start, content_end, end };
        start = end;
        Some(line)
    })
}

/// Behind the line end that stands at a place, if one does; where a run of CR has no LF, it is noted how far it goes.
fn line_end(octets: &[u8], at: usize, lone: &mut usize) -> usize {
    let returns = octets.iter().skip(at).take_while(|octet| **octet == b'\r').count();
    match octets.get(at + returns) {
        Some(b'\n') => at + returns + 1,
        _ => {
            *lone = at + returns;
            at + returns.min(1)
        }
    }
}

/// Cuts a message at its first empty line, which goes to the rest.
pub fn split(raw: &Bytes) -> Message {
    let end = lines(raw).find(|line| line.content_end == line.start).map_or(raw.len(), |line| line.start);
    Message { head: raw.slice(..end), rest: raw.slice(end..) }
}

/// Where a field with its folded lines stands, or a line that is no field; together they cover the header without a gap.
///
/// A header is read far more often than it is edited, so this is small: what lies within a field is told by its length,
/// in four octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// First octet.
    pub start: usize,
    /// Behind the final line end.
    pub end: usize,
    /// Octets of the name; none where there is none that RFC 5322 allows, even in its obsolete form with blanks before
    /// the colon.
    pub name: u32,
    /// Octets before the value: up to the colon and with it; none where there is no name.
    pub prefix: u32,
    /// Octets of the final line end.
    pub ending: u32,
    /// The number of the octets in which it stands, if they are not those that came in.
    pub written: Option<NonZeroU32>,
}

impl Span {
    /// Where the name stands.
    pub(super) fn name(&self) -> Range<usize> {
        self.start..self.start + self.name as usize
    }

    /// Where the value stands, without the final line end.
    pub(super) fn value(&self) -> Range<usize> {
        self.start + self.prefix as usize..self.end - self.ending as usize
    }
}

/// A length in four octets; what is longer counts as not there.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or_default()
}

/// The fields of a header section, top down.
///
/// Nearly every header has CRLF at the end of each line and CR nowhere else; that is taken for granted first, since one
/// search for LF is all it needs. Any other header is read line by line.
pub(super) fn fields(head: &[u8]) -> Vec<Span> {
    crlf_fields(head).unwrap_or_else(|| any_fields(head))
}

/// The fields of a header whose line ends are all CRLF; nothing for another.
fn crlf_fields(head: &[u8]) -> Option<Vec<Span>> {
    // A field has about 70 octets; one allocation holds them all.
    let mut fields = Vec::with_capacity(head.len() / 64 + 4);
    let (mut start, mut returns) = (0, 0);
    for at in memchr_iter(b'\n', head) {
        // Before an LF that stands alone is another, or the end of a content.
        let content_end = at.wrapping_sub(1);
        if head.get(content_end) != Some(&b'\r') {
            return None;
        }
        take(&mut fields, head, Line { start, content_end, end: at + 1 });
        (start, returns) = (at + 1, returns + 1);
    }
    if memchr_iter(b'\r', head).count() > returns {
        return None;
    }
    if start < head.len() {
        take(&mut fields, head, Line { start, content_end: head.len(), end: head.len() });
    }
    Some(fields)
}

fn any_fields(head: &[u8]) -> Vec<Span> {
    let mut fields = Vec::new();
    lines(head).for_each(|line| take(&mut fields, head, line));
    fields
}

/// Takes a line for a field, or for a folded line of the last one. For each line a call would take as long as this does.
#[inline(always)]
fn take(fields: &mut Vec<Span>, head: &[u8], line: Line) {
    let ending = narrow(line.end - line.content_end);
    match (head.get(line.start), fields.last_mut()) {
        (Some(b' ' | b'\t'), Some(last)) => (last.end, last.ending) = (line.end, ending),
        _ => {
            let (name, prefix) = named(head.get(line.start..).unwrap_or_default());
            fields.push(Span { start: line.start, end: line.end, name, prefix, ending, written: None });
        }
    }
}

/// Octets of the name that stands at the beginning of a line, and those up to its colon and with it; it does not go
/// beyond the line.
#[inline(always)]
fn named(octets: &[u8]) -> (u32, u32) {
    let name = name_length(octets);
    let mut colon = name;
    while matches!(octets.get(colon), Some(b' ' | b'\t')) {
        colon += 1;
    }
    let prefix = if name > 0 && octets.get(colon) == Some(&b':') { narrow(colon + 1) } else { 0 };
    (narrow(name).min(prefix), prefix)
}

/// How many octets of `ftext` (RFC 5322 section 3.6.8) stand at the beginning; eight are looked at in one go.
fn name_length(octets: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, last) = octets.as_chunks::<8>();
    for (index, eight) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        // Each sets the high bit of the first octet that ends the name, and perhaps of ones behind it.
        let (below, colon) = (word.wrapping_sub(ONES * u64::from(b'!')), word ^ (ONES * u64::from(b':')));
        let ends = (word | word.wrapping_add(ONES) | below | colon.wrapping_sub(ONES)) & (ONES << 7);
        if ends != 0 {
            return index * 8 + ends.trailing_zeros() as usize / 8;
        }
    }
    let is_name = |octet: &&u8| octet.is_ascii_graphic() && **octet != b':';
    octets.len() - last.len() + last.iter().take_while(is_name).count()
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
    fn many_lone_cr_take_no_square_of_their_number() {
        let raw = format!("A: b{}C: d\r\r\r\n\r\r", "\r".repeat(1_000_000));
        assert_eq!(lines(raw.as_bytes()).count(), 1_000_003);
        assert_eq!(
            lines(raw.as_bytes()).last(),
            Some(Line { start: raw.len() - 1, content_end: raw.len() - 1, end: raw.len() })
        );
        assert_eq!(any_fields(raw.as_bytes()).last().map(|span| (span.end, span.ending)), Some((raw.len(), 1)));
        assert_eq!(cut(&"\r".repeat(1_000_000)).1.len(), 1_000_000);
    }

    #[test]
    fn spans_cover_the_header_without_a_gap() {
        let head = b"A: b\r\n c\r\nno colon\r\n: empty\r\nB :d\r\n\tx\r\nC:";
        let spans = fields(head);
        assert_eq!(spans.first().map(|span| span.start), Some(0));
        assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(spans.last().map(|span| span.end), Some(head.len()));
        let names: Vec<_> = spans.iter().map(|span| &head[span.name()]).collect();
        assert_eq!(names, [&b"A"[..], b"", b"", b"B", b"C"]);
        assert_eq!(&head[spans[0].value()], b" b\r\n c");
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
            let quick = crlf_fields(head.as_bytes());
            assert!(quick.is_none_or(|quick| quick == any_fields(head.as_bytes())), "{head:?}");
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
