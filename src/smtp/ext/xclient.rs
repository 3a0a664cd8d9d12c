//! XCLIENT: a trusted peer says who the client is.

use super::{super::session::XCLIENT, Extension};

pub(super) const EXTENSION: Extension = Extension {
    keyword: "XCLIENT",
    source: "https://www.postfix.org/XCLIENT_README.html",
    offered: |session| session.trusted.then(|| XCLIENT.join(" ")),
    mail: &[],
    rcpt: &[],
};
