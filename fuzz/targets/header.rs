//! Reading a header: every octet of it is somewhere, and no value can end the program.

#![no_main]

use bytes::Bytes;
use headgate::header::{self, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let raw = Bytes::copy_from_slice(octets);
    lines_cover(octets);
    let message = header::split(&raw);
    assert_eq!(message.to_bytes(), raw);
    assert!(header::lines(&message.head).all(|line| line.content_end > line.start));
    header_stays(&raw);
    text_is_mended(&header::text(octets));
});

fn lines_cover(octets: &[u8]) {
    let mut end = 0;
    for line in header::lines(octets) {
        assert!(line.start == end && line.content_end >= line.start && line.end > line.start);
        assert!(!octets[line.start..line.content_end].iter().any(|octet| matches!(octet, b'\r' | b'\n')));
        end = line.end;
    }
    assert_eq!(end, octets.len());
}

fn header_stays(raw: &Bytes) {
    let head = Header::parse(raw);
    assert_eq!(head.finish(), raw);
    assert_eq!(head.len(), raw.len());
    let mut whole = Vec::new();
    for at in head.positions() {
        whole.extend_from_slice(head.whole(at));
        let unfolded = head.unfolded(at);
        assert!(!unfolded.iter().any(|octet| matches!(octet, b'\r' | b'\n')));
        let _ = (head.raw(at), head.decoded(at));
        if let Some(name) = head.name(at) {
            assert!(header::FieldName::parse(name).is_ok() || name.len() > 256, "{name:?}");
            assert!(head.find(name).any(|found| found == at));
        }
        if let Some(folded) = header::refold(head.whole(at)) {
            refolded(head.whole(at), &folded);
        }
    }
    assert_eq!(&whole, raw);
}

/// A folded field is one field whose lines fit.
fn refolded(field: &[u8], folded: &[u8]) {
    let lines = header::lines(folded).map(|line| line.content_end - line.start);
    assert!(lines.max().unwrap_or_default() <= header::LINE_MAX);
    if !header::has_long_line(field) && header::lines(field).all(|line| line.content_end - line.start <= 998) {
        assert_eq!(field, folded);
    }
    let again = Header::parse(&Bytes::copy_from_slice(folded));
    assert_eq!(again.positions().count(), 1, "{}", folded.escape_ascii());
}

/// A mended text is ASCII, says the same and needs no second mending.
fn text_is_mended(text: &str) {
    let Some(mended) = header::mend_unstructured(text) else { return };
    assert!(mended.is_ascii() && !mended.contains(['\r', '\n']), "{mended:?}");
    assert_eq!(header::mend_unstructured(&mended), None, "{mended:?}");
}
