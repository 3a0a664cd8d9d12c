//! CHUNKING (RFC 3030): messages in counted chunks by BDAT. BINARYMIME is not offered: SES wants lines.

use super::Extension;

pub(super) const EXTENSION: Extension =
    Extension { keyword: "CHUNKING", source: "RFC 3030", offered: |_| Some(String::new()), mail: &[], rcpt: &[] };
