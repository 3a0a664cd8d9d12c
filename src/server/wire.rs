//! What a connection runs over.

use tokio::io::{AsyncRead, AsyncWrite};

/// A stream of octets both ways: a socket, what lies within TLS, standard input and output.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A stream of a kind that may change while it is used.
pub type Wire = Box<dyn Stream>;
