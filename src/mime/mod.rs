//! MIME and address lists in header values. It knows the header's text only, not where it came from.

mod mailbox;

pub use mailbox::{Mailbox, mailboxes};
