//! Commands to a mail server and its replies, over any stream.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::response::{LINE_MAX, Response};

/// Octets both ways, private or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A stream and what was read of it without having been asked for yet.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

impl Wire {
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// The stream, when nothing was read ahead: what a stranger put in before TLS begins must not count as said within
    /// (RFC 3207 section 6).
    pub fn into_stream(self) -> Option<Box<dyn Stream>> {
        self.read.is_empty().then_some(self.stream)
    }

    /// Sends octets.
    pub async fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets).await?;
        self.stream.flush().await
    }

    /// Sends one line and waits for its reply.
    pub async fn command(&mut self, command: &str) -> io::Result<Response> {
        self.write(format!("{command}\r\n").as_bytes()).await?;
        self.response().await
    }

    /// The next reply.
    pub async fn response(&mut self) -> io::Result<Response> {
        let mut response = Response::default();
        loop {
            let line = self.line().await?;
            if response.take(&line).map_err(io::Error::other)? {
                return Ok(response);
            }
        }
    }

    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.read) {
                let mut line: Vec<u8> = self.read.drain(..=end).collect();
                line.truncate(line.trim_ascii_end().len());
                return Ok(line);
            }
            if self.read.len() > LINE_MAX {
                return Err(io::Error::other("a line of the server's reply does not end"));
            }
            let mut octets = [0; 1024];
            let count = self.stream.read(&mut octets).await?;
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            self.read.extend_from_slice(octets.get(..count).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn replies(sent: &[u8], count: usize) -> Vec<Result<String, String>> {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(sent).await.unwrap();
        drop(theirs);
        let mut wire = Wire::new(Box::new(ours));
        let mut found = Vec::new();
        for _ in 0..count {
            let reply = wire.response().await;
            found
                .push(reply.map(|reply| format!("{} {}", reply.code, reply.text())).map_err(|error| error.to_string()));
        }
        found
    }

    #[tokio::test]
    async fn replies_that_came_together_are_told_apart() {
        let found = replies(b"250-a\r\n250 b\r\n550 c\n421 d\r\n", 4).await;
        let gone = Err("the server closed the connection".to_owned());
        assert_eq!(found, [Ok("250 a b".to_owned()), Ok("550 c".to_owned()), Ok("421 d".to_owned()), gone]);
    }

    #[tokio::test]
    async fn a_reply_without_end_is_an_error() {
        let endless = [b"250 ".as_slice(), &vec![b'x'; 3 * LINE_MAX]].concat();
        assert_eq!(replies(&endless, 1).await, [Err("a line of the server's reply does not end".to_owned())]);
    }

    #[tokio::test]
    async fn what_came_before_tls_is_not_taken_over() {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        theirs.write_all(b"220 go\r\n250 injected\r\n").await.unwrap();
        let mut wire = Wire::new(Box::new(ours));
        assert_eq!(wire.response().await.unwrap().code, 220);
        assert!(wire.into_stream().is_none());
    }
}
