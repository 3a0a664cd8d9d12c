//! MIME and address lists in header values. It knows the header's text only, not where it came from.

mod mailbox;
mod parameter;

pub use mailbox::{Mailbox, mailboxes};
pub use parameter::{Fault, Grammar, Mend, Value, check, mend};
