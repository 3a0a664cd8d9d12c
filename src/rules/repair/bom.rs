//! `bom`: a byte order mark before the first field goes.
//!
//! Editors and PowerShell put it before everything they write; with it the first field has no legal name.

use super::RepairRow;
use crate::header::{self, Header};

pub(super) const ROW: RepairRow = RepairRow {
    name: "bom",
    doc: "a UTF-8 byte order mark before the first field goes",
    apply: |mending| {
        let head = mending.draft.message().head;
        if head.starts_with(MARK) {
            // Alone on its line the mark goes with it, for what follows is the header. The header is not cut anew: a
            // lone CR at its end is no line end with the LF of the empty line behind it.
            let line = header::lines(&head).next().filter(|line| line.content_end == MARK.len());
            mending.draft.header = Header::parse(&head.slice(line.map_or(MARK.len(), |line| line.end)..));
            mending.note("the byte order mark went");
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
    }

    #[test]
    fn a_mark_alone_on_its_line_is_no_end_of_the_header() {
        let raw = "\u{feff}\r\nReceived: x\r\n\r\ny";
        assert_eq!(repaired("bom", raw).as_deref(), Ok("Received: x\r\n\r\ny"));
        assert_eq!(repaired("bom", "\u{feff}\r\n\r\nx").as_deref(), Ok("\r\nx"));
    }
}
