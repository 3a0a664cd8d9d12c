//! XFORWARD: a trusted peer says whom the log is to show.

use super::{super::session::XFORWARD, Extension};

pub(super) const EXTENSION: Extension = Extension {
    keyword: "XFORWARD",
    source: "https://www.postfix.org/XFORWARD_README.html",
    offered: |session| session.trusted.then(|| XFORWARD.join(" ")),
    mail: &[],
    rcpt: &[],
};
