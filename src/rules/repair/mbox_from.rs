//! `mbox-from`: the `From ` line of an mbox before the first field goes.
//!
//! It is the separator of a mailbox file (RFC 4155) and no field; formail, procmail and old pipes leave it there.

use super::RepairRow;

pub(super) const ROW: RepairRow = RepairRow {
    name: "mbox-from",
    doc: "the \"From \" line of a mailbox file before the first field goes (RFC 4155)",
    apply: |mending| {
        let first = mending.header().positions().next();
        let separates =
            |at: &usize| [&b"From "[..], b">From "].iter().any(|start| mending.header().whole(*at).starts_with(start));
        if let Some(at) = first.filter(|at| mending.header().name(*at).is_none() && separates(at)) {
            mending.remove(at);
        }
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    #[test]
    fn the_separator_goes_and_the_field_stays() {
        let raw = "From evan@example.com Mon Jan  6 10:00:00 2025\r\nFrom: a@example.com\r\n\r\nx";
        assert_eq!(repaired("mbox-from", raw).as_deref(), Ok("From: a@example.com\r\n\r\nx"));
        untouched("mbox-from", "From : a@example.com\r\n\r\nFrom here on\r\n");
        untouched("mbox-from", "To: a@example.com\r\nFrom nobody\r\n\r\nx");
    }
}
