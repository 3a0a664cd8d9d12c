//! `long-lines`: no line is longer than 998 octets (RFC 5322 section 2.1.1).
//!
//! SES refuses longer ones, and servers on the way cut them. Fields are folded where their grammar allows it. A body is
//! never cut: the part that holds the line is encoded so that it decodes to the same octets, or its encoding gets shorter
//! lines. What is signed, or encoded in a way that MIME does not know, is left to the lint.

use bytes::{Bytes, BytesMut};

use super::{
    Mending, RepairRow,
    parts::{Body, Edit, edit_top},
    recode::recode,
};
use crate::{
    header::{Header, has_long_line, refold},
    mime::Shape,
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "long-lines",
    doc: "lines over 998 octets: fields are folded, bodies encoded (RFC 5322 section 2.1.1, RFC 2045 section 6)",
    apply: |mending| {
        let edits = folds(mending.header());
        edit_top(mending, edits);
        if has_long_line(&mending.draft.rest) {
            body(mending);
        }
        Ok(())
    },
};

/// The fields that have to be folded, and can be.
fn folds(header: &Header) -> Vec<Edit> {
    let long = header.positions().filter(|at| has_long_line(header.whole(*at)));
    long.filter_map(|at| refold(header.whole(at)).map(|octets| Edit::Put(at, octets))).collect()
}

fn body(mending: &mut Mending<'_>) {
    let Some(mut body) = Body::of(mending) else { return };
    for index in body.indices() {
        part(mending, &mut body, index);
    }
    body.finish(mending);
}

fn part(mending: &mut Mending<'_>, body: &mut Body, index: usize) {
    let Some(part) = body.part(index).cloned() else { return };
    let long = has_long_line(body.octets(&part.header)) || has_long_line(body.octets(&part.body));
    if part.sealed || !long {
        let leaf = matches!(part.shape, Shape::Leaf | Shape::Opaque);
        if long && leaf {
            mending.note(&format!("{} is signed or encrypted and left alone", body.label(index)));
        }
        return;
    }
    let header = body.header(mending, index);
    let mut edits = if index == 0 { Vec::new() } else { folds(&header) };
    match part.shape {
        Shape::Leaf if has_long_line(body.octets(&part.body)) => {
            if let Some(recoded) = recode(body, index, &header) {
                let what = format!("{} had lines over 998 octets, now in {}", body.label(index), recoded.encoding);
                mending.note(&what);
                edits.extend(recoded.edits);
                body.replace(part.body, recoded.octets.into());
            }
        }
        Shape::Multipart { preamble, epilogue } => {
            for span in [preamble, epilogue] {
                if has_long_line(body.octets(&span)) {
                    mending.note(&format!("lines around the parts of {} were broken", body.label(index)));
                    body.replace(span.clone(), broken(body.octets(&span)));
                }
            }
        }
        Shape::Leaf | Shape::Message | Shape::Opaque => {}
    }
    body.edit(mending, index, edits);
}

/// What nobody is shown, in shorter lines; those added begin with a blank, and so are no delimiters.
fn broken(octets: &[u8]) -> Bytes {
    const PIECE: usize = 900;
    let mut out = BytesMut::with_capacity(octets.len() + octets.len() / PIECE * 3);
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let pieces = line.chunks(if has_long_line(line) { PIECE } else { line.len() });
        for (index, piece) in pieces.enumerate() {
            out.extend_from_slice(if index > 0 && !matches!(piece, b"\n" | b"\r\n") { b"\r\n " } else { b"" });
            out.extend_from_slice(piece);
        }
    }
    out.freeze()
}

#[cfg(test)]
#[path = "long_lines_tests.rs"]
mod tests;
