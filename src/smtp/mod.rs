//! The SMTP protocol (RFC 5321) without I/O.
//!
//! In go octets ([`Codec`]), which become [`Command`]s, which a [`Session`] answers with [`Step`]s; the server performs
//! the steps. Nothing here awaits, sleeps, logs or reads a clock, and nothing here knows rules, SES or sockets.

mod codec;
mod command;
mod data;
mod ext;
mod session;
mod transaction;
pub mod xtext;

pub use codec::{Codec, DataFault, Item};
pub use command::{Command, ForwardPath, Parameter};
pub use ext::{EXTENSIONS, Extension};
pub use session::{Login, LoginEnd, Logins, Next, Offer, Session, Step};
pub use transaction::{End, Event, Open, Transaction};
