//! `nul`: no NUL octet leaves.
//!
//! RFC 5322 section 4 lets a message hold none, RFC 5321 section 4.5.2 lets a server strip or refuse them, and what
//! stands behind one may be hidden from whoever filters. In a header they go. In a body they may be content: the part is
//! encoded, and they come out again where it is decoded.

use bytes::Bytes;
use memchr::memchr;

use super::{
    Mending, RepairRow,
    parts::{Body, Edit, edit_top},
    recode::recode,
};
use crate::{
    header::{self, Header},
    mime::{DEPTH, Shape},
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "nul",
    doc: "NUL octets go from a header; a body that holds some is encoded (RFC 5322 section 4)",
    apply: |mending| {
        let edits = strips(mending.header());
        edit_top(mending, edits);
        if memchr(0, &mending.draft.rest).is_some() {
            body(mending);
        }
        Ok(())
    },
};

/// The fields and lines without their NUL octets.
fn strips(header: &Header) -> Vec<Edit> {
    let hit = header.positions().filter(|at| memchr(0, header.whole(*at)).is_some());
    let strip = |at: usize| match stripped(header.whole(at)) {
        octets if octets.is_empty() => Some(Edit::Remove(at)),
        // What would be a delimiter without its NUL was none to the sender.
        octets if octets.starts_with(b"--") => None,
        octets => Some(Edit::Put(at, octets)),
    };
    hit.filter_map(strip).collect()
}

/// A field without NUL, and without the lines that held nothing else: an empty one would end the header.
fn stripped(whole: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(whole.len());
    for line in header::lines(whole) {
        let content = whole.get(line.start..line.content_end).unwrap_or_default();
        let kept: Vec<u8> = content.iter().copied().filter(|octet| *octet != 0).collect();
        // The folds of a line that went hold on to nothing.
        let orphan = out.is_empty() && line.start > 0;
        if kept.len() == content.len() && !orphan || !kept.trim_ascii().is_empty() {
            out.extend_from_slice(&kept);
            out.extend_from_slice(whole.get(line.content_end..line.end).unwrap_or_default());
        }
    }
    // A blank that a NUL stood before would make it the folded end of another field.
    let blanks = out.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count();
    if !matches!(whole.first(), Some(b' ' | b'\t')) {
        out.drain(..blanks);
    }
    out
}

fn body(mending: &mut Mending<'_>) {
    // A NUL in a header may hide what the part is, and that parts are in it; so each round may see deeper.
    for _ in 0..=DEPTH {
        if !part_headers(mending) {
            break;
        }
    }
    let Some(mut body) = Body::of(mending) else { return };
    for index in body.indices() {
        part_body(mending, &mut body, index);
    }
    body.finish(mending);
}

/// Mends the headers of all parts that can be seen; whether there was something to mend.
pub(super) fn part_headers(mending: &mut Mending<'_>) -> bool {
    let Some(mut body) = Body::of(mending) else { return false };
    let mut found = false;
    for index in body.indices().skip(1).filter(|index| !body.is_sealed(*index)).collect::<Vec<_>>() {
        let edits = strips(&body.header(mending, index));
        found |= !edits.is_empty();
        body.edit(mending, index, edits);
    }
    body.finish(mending);
    found
}

fn part_body(mending: &mut Mending<'_>, body: &mut Body, index: usize) {
    let Some(part) = body.part(index).filter(|part| !part.sealed).cloned() else { return };
    match part.shape {
        Shape::Leaf if memchr(0, body.octets(&part.body)).is_some() => {
            let header = body.header(mending, index);
            if let Some(recoded) = recode(body, index, &header) {
                mending.note(&format!("{} held NUL octets, now in {}", body.label(index), recoded.encoding));
                body.edit(mending, index, recoded.edits);
                body.replace(part.body, recoded.octets.into());
            }
        }
        Shape::Multipart { preamble, epilogue } => {
            for span in [preamble, epilogue] {
                if memchr(0, body.octets(&span)).is_some() {
                    mending.note(&format!("NUL octets around the parts of {} became blanks", body.label(index)));
                    let blank = |octet: &u8| if *octet == 0 { b' ' } else { *octet };
                    body.replace(span.clone(), body.octets(&span).iter().map(blank).collect::<Bytes>());
                }
            }
        }
        Shape::Leaf | Shape::Message | Shape::Opaque => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    fn mended(raw: &str) -> String {
        repaired("nul", raw).unwrap()
    }

    #[test]
    fn they_go_from_a_header() {
        assert_eq!(mended("Fr\0om: a\0\r\n\0\r\nA: b\r\n \0\r\n c\r\n\r\nx"), "From: a\r\nA: b\r\n c\r\n\r\nx");
    }

    #[test]
    fn a_body_keeps_them_encoded() {
        assert_eq!(
            mended("Content-Type: text/plain\r\n\r\none\0two\r\n.\r\n"),
            "Content-Type: text/plain\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\none=00two\r\n=2E\r\n"
        );
        let raw = "Content-Type: multipart/mixed; boundary=b\r\n\r\n\0\r\n--b\r\nA\0: b\r\nContent-Type: application/x\r\n\r\n\0\x01\r\n--b\r\n\
                   Content-Transfer-Encoding: base64\r\n\r\nQUJD\0QUJD\r\n--b\r\nContent-Transfer-Encoding: \
                   quoted-printable\r\n\r\n=41\0\r\n--b--\r\n";
        assert_eq!(
            mended(raw),
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n \r\n--b\r\nA: b\r\nContent-Type: application/x\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nAAE=\r\n--b\r\nContent-Transfer-Encoding: base64\r\n\r\nQUJDQUJD\r\n--b\r\n\
             Content-Transfer-Encoding: quoted-printable\r\n\r\n=41=00\r\n--b--\r\n"
        );
        assert_eq!(mended(&mended(raw)), mended(raw));
    }

    #[test]
    fn other_mail_and_what_is_signed_are_left_alone() {
        untouched("nul", "A: b\r\n\r\n=00\r\n");
        untouched("nul", "Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\n\0\r\n--b--\r\n");
        untouched("nul", "Content-Transfer-Encoding: x-uuencode\r\n\r\n\0\r\n");
        untouched("nul", "Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\0\r\n");
    }

    #[test]
    fn a_line_does_not_become_the_fold_of_the_field_before_it() {
        assert_eq!(repaired("nul", "A: b\r\n\0 c: d\r\n\r\nx").as_deref(), Ok("A: b\r\nc: d\r\n\r\nx"));
    }

    #[test]
    fn a_blank_fold_behind_a_line_of_nul_alone_does_not_end_the_header() {
        let raw = ";\r\n\0\r\n \r\n\t\0\r\n :\r\nFrom: a@example.com\r\n\0\r\n \r\n\r\nx";
        assert_eq!(repaired("nul", raw).as_deref(), Ok(";\r\n:\r\nFrom: a@example.com\r\n\r\nx"));
    }
}
