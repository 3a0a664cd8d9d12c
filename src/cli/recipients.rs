//! Whom a message names itself: the addresses in its To, Cc and Bcc, or in their Resent- kin.

use bytes::Bytes;

use crate::{
    header::{self, Header},
    mail::Address,
    mime::address::{Letters, Mended, check, mend},
};

/// The fields whose addresses are recipients.
pub(super) const FIELDS: &[&str] = &["To", "Cc", "Bcc"];

/// The addresses in those fields, each once. `own` is the domain that a local part alone gets.
///
/// # Errors
/// A field that nobody can read, or an address in it that SES cannot take.
pub(super) fn named(raw: &Bytes, fields: &[&str], own: Option<&str>) -> Result<Vec<Address>, String> {
    let header = Header::parse(&header::split(raw).head);
    let mut found: Vec<Address> = Vec::new();
    for name in fields {
        for at in header.find(name) {
            let value = header.unfolded(at);
            let text = header::text(&value);
            let list = match mend(text.trim(), Letters::Utf8, own) {
                Mended::Right => text.trim().to_owned(),
                Mended::Written(list) => list,
                Mended::Empty => continue,
                Mended::Unreadable => return Err(format!("{name}: {} is no list of addresses", shown(&text))),
            };
            let specs = check(&list, Letters::Utf8).unwrap_or_default();
            for spec in specs {
                let address = Address::from_parts(spec.local, spec.domain)
                    .map_err(|error| format!("{name}: <{}@{}>: {error}", spec.local, spec.domain))?;
                if !found.contains(&address) {
                    found.push(address);
                }
            }
        }
    }
    Ok(found)
}

/// As much of a value as a message shows.
fn shown(text: &str) -> String {
    header::printable(text.trim()).chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, own: Option<&str>) -> Result<String, String> {
        let found = named(&Bytes::from(text.to_owned()), FIELDS, own)?;
        Ok(found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn all_fields_count_and_each_address_once() {
        let mail = "To: A <a@x.example>,\n b@x.example\ncc: \"C, c\" <c@x.example>, a@x.example\nBCC: d@x.example\nTo: \"e f\"@x.example\n\nTo: body@x.example\n";
        assert_eq!(of(mail, None).as_deref(), Ok("a@x.example b@x.example \"e f\"@x.example c@x.example d@x.example"));
    }

    #[test]
    fn groups_have_members_or_none() {
        assert_eq!(
            of("To: undisclosed-recipients:;\nBcc: team: a@x.example, b@x.example;\n\n", None).as_deref(),
            Ok("a@x.example b@x.example")
        );
        assert_eq!(of("Subject: none\n\nx", None).as_deref(), Ok(""));
    }

    #[test]
    fn a_local_part_alone_gets_the_own_domain() {
        assert_eq!(of("To: root\n\n", Some("host.example")).as_deref(), Ok("root@host.example"));
        assert!(of("To: root\n\n", None).is_err());
        assert_eq!(of("To: a@bücher.example\n\n", None).as_deref(), Ok("a@xn--bcher-kva.example"));
    }
}
