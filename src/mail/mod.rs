//! The vocabulary that every room speaks: ids, addresses, envelopes, messages, replies and outcomes.
//!
//! Nothing enters or leaves; there is no I/O here and no knowledge of any other room.

mod address;
mod client;
mod dsn;
mod envelope;
mod id;
mod message;
mod options;
mod outcome;
mod period;
mod reply;
mod secret;
mod size;

pub(crate) use address::is_atext;
pub use address::{Address, AddressError};
pub use client::Client;
pub use dsn::{Asked, Asks, Dsn, Notify, Ret};
pub use envelope::{Envelope, Sender};
pub use id::Id;
pub use message::Message;
pub use options::Options;
pub use outcome::{Fate, Outcome, Outcomes, Pressure};
pub use period::Period;
pub use reply::{Enhanced, Reply};
pub use secret::{Secret, without_login};
pub use size::Size;

/// Something that will be there later, for traits whose implementations are chosen at run time.
pub type Soon<'a, T> = std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;
