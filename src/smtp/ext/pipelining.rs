//! PIPELINING (RFC 2920): the server reads on and answers a group of commands in one write.

use super::Extension;

pub(super) const EXTENSION: Extension =
    Extension { keyword: "PIPELINING", source: "RFC 2920", offered: |_| Some(String::new()), mail: &[], rcpt: &[] };
