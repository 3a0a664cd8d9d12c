//! SMTPUTF8 (RFC 6531): UTF-8 in headers and domains is taken; a local part that is not ASCII is refused, since SES has
//! no way to take it. Without the offer Postfix bounces mail whose header holds UTF-8.

use crate::mail::{Enhanced, Reply};

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "SMTPUTF8",
    source: "RFC 6531",
    offered: |_| Some(String::new()),
    mail: &[("SMTPUTF8", |value, _, facts| match value {
        None => {
            facts.smtputf8 = true;
            Ok(())
        }
        Some(_) => Err(Reply::new(501, Enhanced(5, 5, 4), "SMTPUTF8 takes no value")),
    })],
    rcpt: &[],
};
