//! 8BITMIME (RFC 6152): octets above 127 in the body are taken as they are.

use crate::mail::{Enhanced, Reply};

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "8BITMIME",
    source: "RFC 6152",
    offered: |_| Some(String::new()),
    mail: &[("BODY", |value, _, _| match value.map(str::to_ascii_uppercase).as_deref() {
        Some("7BIT" | "8BITMIME") => Ok(()),
        _ => Err(Reply::new(501, Enhanced(5, 5, 4), "BODY is 7BIT or 8BITMIME")),
    })],
    rcpt: &[],
};
