//! ENHANCEDSTATUSCODES (RFC 2034): each reply but the greeting, EHLO and 354 carries one.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "ENHANCEDSTATUSCODES",
    source: "RFC 2034",
    offered: |_| Some(String::new()),
    mail: &[],
    rcpt: &[],
};
