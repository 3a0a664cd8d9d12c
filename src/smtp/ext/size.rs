//! SIZE (RFC 1870): the limit is told, and a message that says it is larger is refused before it is sent, one for which
//! there is no room now put off.

use crate::mail::{Enhanced, Reply};

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "SIZE",
    source: "RFC 1870",
    offered: |session| Some(session.offer.message_size.to_string()),
    mail: &[("SIZE", |value, offer, facts| {
        let digits = value.filter(|text| text.len() <= 20 && text.bytes().all(|octet| octet.is_ascii_digit()));
        let Some(digits) = digits else {
            return Err(Reply::new(501, Enhanced(5, 5, 4), "SIZE is a number of octets"));
        };
        let size = digits.parse().unwrap_or(u64::MAX);
        if size > offer.message_size {
            let text = format!("A message has at most {} octets here", offer.message_size);
            return Err(Reply::new(552, Enhanced(5, 3, 4), &text));
        }
        facts.size = Some(size);
        Ok(())
    })],
    rcpt: &[],
};
