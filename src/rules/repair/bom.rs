//! `bom`: a byte order mark before the first field goes.
//!
//! Editors and PowerShell put it before everything they write; with it the first field has no legal name.

use super::RepairRow;

pub(super) const ROW: RepairRow = RepairRow {
    name: "bom",
    doc: "a UTF-8 byte order mark before the first field goes",
    apply: |mending| {
        let message = mending.draft.message().to_bytes();
        if message.starts_with(MARK) {
            mending.reread(&message.slice(MARK.len()..), "the byte order mark went");
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
}
