//! `required-fields`: a missing or empty From is made of the envelope's sender.
//!
//! RFC 5322 section 3.6 wants From; a submission server may add it (RFC 6409 section 8). Devices and scripts give the
//! sender in the envelope only. A bounce without From comes from our own MAILER-DAEMON; where our name has no domain
//! there is nothing to make it of, and SES would refuse the message.

use super::RepairRow;
use crate::header::FieldName;

pub(super) const ROW: RepairRow = RepairRow {
    name: "required-fields",
    doc: "a missing or empty From is made of the envelope's sender, for a bounce of our own name (RFC 6409 section 8)",
    apply: |mending| {
        let fields: Vec<usize> = mending.header().find("From").collect();
        // Controls alone, which become blanks, are nothing either.
        let is_shown = |octet: &u8| !octet.is_ascii_control() && *octet != b' ';
        let full = fields.iter().any(|at| mending.header().raw(*at).iter().any(is_shown));
        let hostname = &mending.facts.hostname;
        let sender = match &mending.draft.envelope.sender.0 {
            Some(sender) => sender.to_string(),
            None if hostname.contains('.') => format!("MAILER-DAEMON@{hostname}"),
            None => return Ok(()),
        };
        if full {
            return Ok(());
        }
        fields.into_iter().for_each(|at| mending.remove(at));
        if let Ok(name) = FieldName::parse("From") {
            mending.append(&name, &sender);
        }
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    #[test]
    fn from_is_made_of_the_sender() {
        let from = "To: a@example.com\r\nFrom: sender@example.com\r\n\r\nx";
        assert_eq!(repaired("required-fields", "To: a@example.com\r\n\r\nx").as_deref(), Ok(from));
        assert_eq!(repaired("required-fields", "From:\r\nTo: a@example.com\r\n\r\nx").as_deref(), Ok(from));
        untouched("required-fields", "From: b@example.com\r\n\r\nx");
    }

    #[test]
    fn a_from_of_controls_alone_is_empty() {
        let made = repaired("required-fields", "From: \u{e}\r\n\r\nx");
        assert_eq!(made.as_deref(), Ok("From: sender@example.com\r\n\r\nx"));
    }
}
