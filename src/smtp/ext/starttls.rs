//! STARTTLS (RFC 3207): where the listener has it, and not a second time within TLS (section 4.2).

use super::Extension;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "STARTTLS",
    source: "RFC 3207",
    offered: |session| (session.offer.starttls && session.client.tls.is_none()).then(String::new),
    mail: &[],
    rcpt: &[],
};
