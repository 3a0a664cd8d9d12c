//! `bom`: a byte order mark before the first field goes.
//!
//! Editors and PowerShell put it before everything they write; with it the first field has no legal name.

use super::RepairRow;
use crate::{
    header::{self, Header},
    mail::Message,
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "bom",
    doc: "a UTF-8 byte order mark before the first field goes",
    apply: |mending| {
        let Message { head, rest } = mending.draft.message();
        if head.starts_with(MARK) {
            let head = head.slice(MARK.len()..);
            // Only a header that begins with its end is cut anew: a lone CR at its end is none with the LF behind it.
            if header::split(&head).rest.is_empty() {
                mending.draft.header = Header::parse(&head);
                mending.note("the byte order mark went");
            } else {
                mending.reread(&Message { head, rest }.to_bytes(), "the byte order mark went");
            }
        }
        Ok(())
    },
};

const MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    #[test]
    fn the_mark_goes() {
        assert_eq!(
            repaired("bom", "\u{feff}From: a@example.com\r\n\r\nx").as_deref(),
            Ok("From: a@example.com\r\n\r\nx")
        );
        untouched("bom", "From: a@example.com\r\n\r\n\u{feff}x");
    }

    #[test]
    fn a_lone_cr_at_the_end_of_the_header_does_not_swallow_the_empty_line() {
        let raw = "\u{feff}A: b\r\n\r\nx";
        assert_eq!(repaired("bom", raw).as_deref(), Ok("A: b\r\n\r\nx"));
        assert_eq!(repaired("bom", "\u{feff}\r\nx").as_deref(), Ok("\r\nx"));
    }
}
