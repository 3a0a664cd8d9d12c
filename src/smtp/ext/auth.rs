//! AUTH (RFC 4954) by PLAIN (RFC 4616) and LOGIN: offered where a password can be sent without others reading it.

use super::{super::session::Logins, Extension, unknown};

pub(super) const EXTENSION: Extension = Extension {
    keyword: "AUTH",
    source: "RFC 4954",
    offered: |session| session.takes_logins().then(|| "PLAIN LOGIN".to_owned()),
    // Who vouched for the message elsewhere is nothing that we pass on (RFC 4954 section 5).
    mail: &[("AUTH", |_, offer, _| if offer.logins == Logins::None { Err(unknown("AUTH")) } else { Ok(()) })],
    rcpt: &[],
};
