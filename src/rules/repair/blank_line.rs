//! `blank-line`: the empty line between header and body is put back before a line that can be no field.
//!
//! RFC 5322 section 2.1 has the body behind the first empty line. Templates forget it; then the first words of the body
//! stand in the header, and SES refuses them as an illegal name. A line before a Received is none of the body, so that no
//! hop is lost; `field-syntax` keeps it.

use bytes::{Bytes, BytesMut};

use super::{
    Mending, RepairRow,
    stray::{Stray, classify},
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "blank-line",
    doc: "the empty line before the body is put back where a line follows that can be no field (RFC 5322 section 2.1)",
    apply: |mending| {
        if let Some(raw) = separated(mending) {
            mending.reread(&raw, "the empty line before the body was put back");
        }
        Ok(())
    },
};

fn separated(mending: &Mending<'_>) -> Option<Bytes> {
    let header = mending.header();
    let has_body = !mending.draft.rest.is_empty();
    let is_body = |at: &usize| header.is_stray(*at) && classify(header, *at, has_body) == Stray::Body;
    let first = header.positions().find(is_body)?;
    let mut raw = BytesMut::with_capacity(header.len() + mending.draft.rest.len() + 2);
    for at in header.positions() {
        if at == first {
            raw.extend_from_slice(b"\r\n");
        }
        raw.extend_from_slice(header.whole(at));
    }
    raw.extend_from_slice(&mending.draft.rest);
    Some(raw.freeze())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    fn mended(raw: &str) -> String {
        repaired("blank-line", raw).unwrap()
    }

    #[test]
    fn the_line_is_put_back_where_the_body_begins() {
        assert_eq!(
            mended("A: b\r\n<!DOCTYPE html \"x:y\">\r\n<p>a: b</p>\r\n"),
            "A: b\r\n\r\n<!DOCTYPE html \"x:y\">\r\n<p>a: b</p>\r\n"
        );
        assert_eq!(
            mended("A: b\r\n--b1\r\nContent-Type: text/plain\r\n\r\nx"),
            "A: b\r\n\r\n--b1\r\nContent-Type: text/plain\r\n\r\nx"
        );
        assert_eq!(mended("Hello there,\r\n\r\nyours\r\n"), "\r\nHello there,\r\n\r\nyours\r\n");
        assert_eq!(
            mended("Subject: x\r\nDear Bob, note: all is well\r\n\r\nyours\r\n"),
            "Subject: x\r\n\r\nDear Bob, note: all is well\r\n\r\nyours\r\n"
        );
    }

    #[test]
    fn a_field_in_the_body_does_not_make_the_lines_before_it_a_header() {
        let raw = "A: b\r\nFoo bar\r\n<p>\r\nCc: x\r\n\r\nhi\r\n";
        assert_eq!(mended(raw), raw.replace("Foo", "\r\nFoo"));
    }

    #[test]
    fn a_broken_line_in_the_midst_of_a_header_ends_nothing() {
        untouched("blank-line", "Content-Type: text/plain;\r\ncharset=utf-8\r\nFrom: a@example.com\r\n\r\nx");
        untouched("blank-line", ": nothing\r\nFrom: a@example.com\r\n\r\nx");
        untouched("blank-line", "A: b\r\n\r\n<p>\r\n");
    }

    #[test]
    fn fields_behind_the_first_line_of_the_body_do_not_keep_a_header_open() {
        assert_eq!(
            mended("A: b\r\nhello\r\n<p>\r\nSubject: x\r\n\r\ny"),
            "A: b\r\n\r\nhello\r\n<p>\r\nSubject: x\r\n\r\ny"
        );
    }

    #[test]
    fn no_received_becomes_body() {
        untouched("blank-line", "A: b\r\nstray\r\nReceived: x\r\n");
        untouched("blank-line", "A: b\r\n<p>\r\n--b\r\nreceived : x\r\n\r\ny");
        untouched("blank-line", "Foo Bar: x\r\nSubject: y\r\nReceived: x\r\n");
        assert_eq!(
            mended("A: b\r\nstray\r\nReceived: x\r\nHello,\r\nReceived with thanks\r\n"),
            "A: b\r\nstray\r\nReceived: x\r\n\r\nHello,\r\nReceived with thanks\r\n"
        );
    }

    #[test]
    fn where_no_empty_line_follows_a_field_tells_that_was_missing_so_far() {
        untouched("blank-line", "Date: x\r\nbroken\r\nFrom: a@example.com\r\nSubject: x\r\n");
        let letter = "Subject: x\r\nDear Bob,\r\nSubject: your offer\r\n";
        assert_eq!(mended(letter), letter.replace("Dear", "\r\nDear"));
    }
}
