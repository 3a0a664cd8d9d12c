//! `line-endings`: a lone CR or LF becomes CRLF.
//!
//! RFC 5321 section 2.3.8 allows CR and LF only together; what SES, the next server or the reader makes of a lone one
//! differs, and the difference is what SMTP smuggling lives on. A run of CR before an LF is one line end: it comes from
//! a text file that was converted twice.

use bytes::Bytes;

use crate::header::{self, Header};

use super::{Draft, RepairRow};

pub(super) const ROW: RepairRow = RepairRow {
    name: "line-endings",
    doc: "a lone CR or LF, which RFC 5321 section 2.3.8 forbids, becomes CRLF",
    apply,
};

fn apply(draft: &mut Draft) -> Option<String> {
    let head = draft.header.finish();
    let (mended_head, in_head) = mend(&head);
    let (mended_rest, in_rest) = mend(&draft.rest);
    if in_head + in_rest == 0 {
        return None;
    }
    if let Some(mended) = mended_head {
        draft.header = Header::parse(&Bytes::from(mended));
    }
    if let Some(mended) = mended_rest {
        draft.rest = Bytes::from(mended);
    }
    Some(format!("{in_head} line ends in the header and {in_rest} in the body became CRLF"))
}

/// The octets with all line ends as CRLF, if any is not, and how many were not.
fn mend(octets: &[u8]) -> (Option<Vec<u8>>, usize) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Envelope;

    fn repaired(raw: &str) -> Option<String> {
        let mut draft = Draft::new(Envelope::default(), &Bytes::from(raw.to_owned()));
        apply(&mut draft)?;
        Some(String::from_utf8(draft.message().to_bytes().to_vec()).unwrap())
    }

    #[test]
    fn lone_line_ends_become_crlf() {
        assert_eq!(repaired("A: b\nC: d\re: f\n\nx\ry\r\n").as_deref(), Some("A: b\r\nC: d\r\ne: f\r\n\r\nx\r\ny\r\n"));
        assert_eq!(repaired("A: b\r\r\nC: d\r\r\n\r\r\nx\r\r\n").as_deref(), Some("A: b\r\nC: d\r\n\r\nx\r\n"));
    }

    #[test]
    fn what_is_right_is_left_alone() {
        assert_eq!(repaired("A: b\r\n\r\nx\r\n\r\ny"), None);
    }
}
