//! MIME and address lists: header values, and where the parts of a body lie. It knows the text only, not where it came
//! from.

pub mod address;
mod attachment;
pub mod base64;
mod delimiter;
mod encoding;
mod mailbox;
mod parameter;
mod part;
pub mod quoted_printable;

pub use attachment::{Attachment, attachments};
pub use encoding::Encoding;
pub use mailbox::{Mailbox, mailboxes};
pub use parameter::{Fault, Grammar, Mend, Value, check, mend};
pub use part::{DEPTH, Part, Parts, Shape};
