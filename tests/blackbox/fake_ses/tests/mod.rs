//! The fake tested as a gateway sees it: real requests over a socket.

mod answers;
mod client;
mod envelope;
mod header;
mod message;
mod record;
mod wire;
