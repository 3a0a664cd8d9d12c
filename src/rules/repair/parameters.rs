//! `parameters`: Content-Type and Content-Disposition get the form of RFC 2045 section 5.1 back, in parts too.
//!
//! SES refuses a message for a missing or a stray `;`, `=` or `/` in any of them. What a mailer meant is told by
//! [`mime::mend`]; boundaries stay as they are, and so does everything but these two fields. What is in a
//! multipart/signed or multipart/encrypted is left alone: a signature covers it (RFC 1847).

use memchr::memchr;

use super::{
    Mending, RepairRow, nul,
    parts::{Body, Edit, edit_top},
    stray::is_parameter,
};
use crate::{
    header::Header,
    mime::{self, DEPTH, Grammar, Mend, Parts},
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "parameters",
    doc: "Content-Type and Content-Disposition get legal parameters, in parts too (RFC 2045 section 5.1, RFC 2183, RFC 2231)",
    apply: |mending| {
        let edits = edits(mending.header());
        edit_top(mending, edits);
        // A header that was mended may show that parts are in the part, and a NUL may hide what a header says; so each
        // round may see deeper, and the next run sees no more than this one.
        for round in 0..=DEPTH {
            let hidden = memchr(0, &mending.draft.rest).is_some() && nul::part_headers(mending);
            if !parts(mending, round) && !hidden {
                break;
            }
        }
        Ok(())
    },
};

/// Mends the headers of all parts that can be seen; whether there was something to mend.
fn parts(mending: &mut Mending<'_>, round: usize) -> bool {
    if Parts::are_one(mending.header()) {
        return false;
    }
    let Some(mut body) = Body::of(mending) else { return false };
    let mut found = false;
    for index in body.indices().skip(1) {
        let edits = edits(&body.header(mending, index));
        if !body.is_sealed(index) {
            found |= !edits.is_empty();
            body.edit(mending, index, edits);
        } else if !edits.is_empty() && round == 0 {
            mending.note(&format!("{} is signed or encrypted and left alone", body.label(index)));
        }
    }
    body.finish(mending);
    found
}

/// What a header needs.
fn edits(header: &Header) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (at, name) in header.names() {
        let name = std::str::from_utf8(name).unwrap_or_default();
        let Some(grammar) = Grammar::of(name) else { continue };
        let strays = strays(header, at);
        let mut whole = header.whole(at).to_vec();
        for stray in &strays {
            whole.push(b' ');
            whole.extend_from_slice(header.whole(*stray));
        }
        let colon = whole.iter().position(|octet| *octet == b':').map_or(0, |at| at + 1);
        match mime::mend(grammar, name, whole.get(colon..).unwrap_or_default()) {
            Mend::Keep if strays.is_empty() => continue,
            Mend::Keep => edits.push(Edit::Put(at, whole)),
            Mend::Write(field) => edits.push(Edit::Put(at, ended_like(&whole, field).into_bytes())),
            Mend::Drop => edits.push(Edit::Remove(at)),
        }
        edits.extend(strays.into_iter().map(Edit::Remove));
    }
    edits
}

/// The lines behind a field that are its parameters, folded without white space.
fn strays(header: &Header, at: usize) -> Vec<usize> {
    let mut last = at;
    let goes_on = |next: &usize| {
        let open = header.whole(last).trim_ascii_end().ends_with(b";");
        last = *next;
        open && header.name(*next).is_none() && is_parameter(String::from_utf8_lossy(header.whole(*next)).trim())
    };
    header.positions().skip_while(|position| *position <= at).take_while(goes_on).collect()
}

/// The field with a final line end if the one before had it; at the end of a part without body there is none.
fn ended_like(whole: &[u8], mut field: String) -> String {
    if !whole.ends_with(b"\n") && !whole.ends_with(b"\r") {
        field.truncate(field.trim_end_matches("\r\n").len());
    }
    field
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    fn mended(raw: &str) -> String {
        repaired("parameters", raw).unwrap()
    }

    #[test]
    fn the_two_fields_are_mended_and_nothing_else() {
        let raw =
            "To : a;\r\nContent-Type: text/html; charset=UTF-8;\r\ncontent-disposition: filename=a b.txt\r\n\r\nx;\n";
        assert_eq!(
            mended(raw),
            "To : a;\r\nContent-Type: text/html; charset=UTF-8\r\ncontent-disposition: attachment; filename=\"a b.txt\"\r\n\r\nx;\n"
        );
        assert_eq!(mended("Content-Disposition:\r\nA: b\r\n\r\n"), "A: b\r\n\r\n");
        assert_eq!(mended("Content-Type: text;"), "Content-Type: text/plain");
    }

    #[test]
    fn parts_are_mended_at_every_depth_by_splicing() {
        let raw = "Content-Type: multipart/mixed; boundary=a?b\r\n\r\npre\n--a?b\r\nContent-Type: message/rfc822;\r\n\r\nSubject: x;\r\n\
                   Content-Type: multipart/mixed; boundary=c;\r\n\r\n--c\r\nX: y;\r\nContent-Type: text/plain;\r\nname=test \
                   hello.txt\r\n\r\n\0caf\n--c--\r\n--a?b\r\nContent-Type: text;\r\n--a?b--\r\n";
        assert_eq!(
            mended(raw),
            "Content-Type: multipart/mixed; boundary=\"a?b\"\r\n\r\npre\n--a?b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x;\r\n\
             Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nX: y;\r\nContent-Type: text/plain; name=\"test \
             hello.txt\"\r\n\r\n\0caf\n--c--\r\n--a?b\r\nContent-Type: text/plain\r\n--a?b--\r\n"
        );
        assert_eq!(mended(&mended(raw)), mended(raw));
    }

    #[test]
    fn a_right_message_and_a_signed_part_are_left_alone() {
        untouched(
            "parameters",
            "Content-Type: multipart/mixed;\r\n\tboundary=\"b 1\" (comment)\r\n\r\n--b 1\r\nContent-Type: Text/Plain ; \
             Charset=\"UTF-8\"\r\nContent-Disposition:inline;filename=a.txt\r\n\r\ntext;\r\n--b 1--\r\n",
        );
        untouched(
            "parameters",
            "Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain;\r\n\r\nx\r\n--b--\r\n",
        );
    }

    #[test]
    fn what_cannot_be_written_is_left_to_the_lint() {
        untouched("parameters", "Content-Type: multipart/mixed; boundary=bü;\r\n\r\n--bü\r\n\r\nx\r\n--bü--\r\n");
    }

    #[test]
    fn parts_that_a_mended_header_shows_are_mended_in_the_same_run() {
        let raw = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed;\r\nboundary=c\r\n\r\n\
                   --c\r\nContent-\0Type: text/plain;\r\n\r\nx\r\n--c--\r\n--b--\r\n";
        let expected = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed;\r\n boundary=c\r\n\r\n\
             --c\r\nContent-Type: text/plain\r\n\r\nx\r\n--c--\r\n--b--\r\n";
        assert_eq!(mended(raw), expected);
    }
}
