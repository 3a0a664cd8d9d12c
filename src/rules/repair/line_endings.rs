//! `line-endings`: a lone CR or LF becomes CRLF.
//!
//! RFC 5321 section 2.3.8 allows CR and LF only together; what SES, the next server or the reader makes of a lone one
//! differs, and the difference is what SMTP smuggling lives on. A run of CR before an LF is one line end: it comes from
//! a text file that was converted twice.

use bytes::Bytes;
use memchr::memchr_iter;

use super::{Mending, RepairRow};
use crate::header::{self, Header};

pub(super) const ROW: RepairRow = RepairRow {
    name: "line-endings",
    doc: "a lone CR or LF, which RFC 5321 section 2.3.8 forbids, becomes CRLF",
    apply: |mending| {
        apply(mending);
        Ok(())
    },
};

fn apply(mending: &mut Mending<'_>) {
    let (head, in_head) = mend(&mending.header().finish());
    let (rest, in_rest) = mend(&mending.draft.rest);
    if in_head + in_rest == 0 {
        return;
    }
    if let Some(mended) = head {
        mending.draft.header = Header::parse(&Bytes::from(mended));
    }
    if let Some(mended) = rest {
        mending.draft.rest = Bytes::from(mended);
    }
    mending.note(&format!("{in_head} line ends in the header and {in_rest} in the body became CRLF"));
}

/// The octets with all line ends as CRLF, if any is not, and how many were not.
fn mend(octets: &[u8]) -> (Option<Vec<u8>>, usize) {
    if is_crlf(octets) {
        return (None, 0);
    }
    let is_wrong = |line: &header::Line| {
        let ending = octets.get(line.content_end..line.end).unwrap_or_default();
        !ending.is_empty() && ending != b"\r\n"
    };
    let wrong = header::lines(octets).filter(is_wrong).count();
    if wrong == 0 {
        return (None, 0);
    }
    let mut mended = Vec::with_capacity(octets.len() + wrong);
    for line in header::lines(octets) {
        mended.extend_from_slice(octets.get(line.start..line.content_end).unwrap_or_default());
        if line.end > line.content_end {
            mended.extend_from_slice(b"\r\n");
        }
    }
    (Some(mended), wrong)
}

/// Whether CR and LF stand together only. Nearly all mail is so, and this is told faster than lines are read.
fn is_crlf(octets: &[u8]) -> bool {
    let mut pairs = 0;
    let paired = memchr_iter(b'\n', octets).all(|at| {
        pairs += 1;
        at > 0 && octets.get(at - 1) == Some(&b'\r')
    });
    paired && memchr_iter(b'\r', octets).count() == pairs
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    #[test]
    fn lone_line_ends_become_crlf() {
        let mended = |raw: &str| repaired("line-endings", raw).unwrap();
        assert_eq!(mended("A: b\nC: d\re: f\n\nx\ry\r\n"), "A: b\r\nC: d\r\ne: f\r\n\r\nx\r\ny\r\n");
        assert_eq!(mended("A: b\r\r\nC: d\r\r\n\r\r\nx\r\r\n"), "A: b\r\nC: d\r\n\r\nx\r\n");
    }

    #[test]
    fn what_is_right_is_left_alone() {
        untouched("line-endings", "A: b\r\n\r\nx\r\n\r\ny");
    }
}
