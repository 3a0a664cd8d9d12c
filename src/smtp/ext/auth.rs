//! AUTH (RFC 4954) by PLAIN (RFC 4616) and LOGIN: offered where a password can be sent without others reading it.

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "AUTH",
    source: "RFC 4954",
    offered: |session| session.takes_logins().then(|| "PLAIN LOGIN".to_owned()),
    mail: Some(("AUTH", |_, _, _| Ok(()))),
};
