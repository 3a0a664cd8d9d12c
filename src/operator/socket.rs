//! The control socket: a Unix socket beside the store, by which a running gateway is spoken to.
//!
//! A line of JSON is a [`Request`], and behind an import come as many lines with octets in base64 as it needs; the answer
//! is a line each [`Answer`], [`Answer::End`] the last. Then the next request may come. Only the user that the gateway
//! runs as, and root, may speak.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Semaphore,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::server::unix::{self, SocketError};

use super::{Answer, Fault, FaultKind, Operator, Request, decoded};

/// Octets of a line; an order names some 30,000 messages in that.
const LINE: u64 = 1 << 20;
/// Connections at once.
const CONNECTIONS: usize = 16;
/// How long the other side may take for a line, or to take one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the control socket of a store is.
pub fn path_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".sock");
    PathBuf::from(name)
}

/// A bound control socket; its file goes with it.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The user that it belongs to.
    owner: u32,
}

impl Socket {
    /// Binds it. One that a gateway left behind and nobody answers at is replaced.
    ///
    /// # Errors
    /// Why there is none; a gateway runs without it.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let listener = unix::bind(path, 0o600)?;
        let owner = fs::metadata(path).map_err(|cause| SocketError::System { path: path.to_owned(), cause })?.uid();
        Ok(Self { listener, path: path.to_owned(), owner })
    }

    /// Answers until told to end.
    pub async fn serve(self, operator: Arc<Operator>, ended: CancellationToken) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = ended.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) if self.is_allowed(&stream) => stream,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "the control socket takes no connection");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            let place = Arc::clone(&places).try_acquire_owned();
            let (operator, ended) = (Arc::clone(&operator), ended.clone());
            tokio::spawn(async move {
                let (reader, writer) = stream.into_split();
                let mut connection = Connection { reader: BufReader::new(reader), writer };
                tokio::select! {
                    () = ended.cancelled() => {}
                    _ = async {
                        match place {
                            Ok(_place) => connection.serve(&operator).await,
                            Err(_) => connection.end(FaultKind::Later, "too many connections; try again").await,
                        }
                    } => {}
                }
            });
        }
    }

    /// Between binding and changing the mode anybody might have connected.
    fn is_allowed(&self, stream: &UnixStream) -> bool {
        match stream.peer_cred() {
            Ok(peer) => peer.uid() == self.owner || peer.uid() == 0,
            Err(_) => false,
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Connection {
    /// Requests, one after the other, until the other side leaves.
    async fn serve(&mut self, operator: &Arc<Operator>) -> io::Result<()> {
        loop {
            let line = match self.line().await? {
                Some(line) if line.is_empty() => return Ok(()),
                Some(line) => line,
                None => return self.end(FaultKind::Usage, "a line of more than 1 MiB").await,
            };
            let request: Request = match serde_json::from_slice(&line) {
                Ok(request) => request,
                Err(error) => {
                    self.end(FaultKind::Usage, &format!("the request is not understood: {error}")).await?;
                    continue;
                }
            };
            if request.octets() > operator.message_size.0 {
                let text = format!("{} octets; at most {} are taken", request.octets(), operator.message_size);
                return self.end(FaultKind::Refused, &text).await;
            }
            let Some(octets) = self.octets(request.octets()).await? else {
                return self.end(FaultKind::Usage, "the octets of the message are not of the announced form").await;
            };
            let mut answers = operator.ask(request, octets);
            while let Some(answer) = answers.recv().await {
                self.tell(&answer).await?;
            }
        }
    }

    /// The next line with its end; empty when the other side has left, nothing when it is too long.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.reader).take(LINE);
        timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await??;
        Ok(Some(line).filter(|line| (line.len() as u64) < LINE || line.ends_with(b"\n")))
    }

    /// The octets behind a request; nothing when they are not so many.
    async fn octets(&mut self, count: u64) -> io::Result<Option<Bytes>> {
        let mut octets = BytesMut::new();
        while (octets.len() as u64) < count {
            let Some(line) = self.line().await? else { return Ok(None) };
            let piece = std::str::from_utf8(&line).ok().and_then(|text| decoded(text.trim_ascii_end()));
            match piece {
                Some(piece) if !piece.is_empty() => octets.extend_from_slice(&piece),
                _ => return Ok(None),
            }
        }
        Ok(Some(octets.freeze()).filter(|octets| octets.len() as u64 == count))
    }

    async fn tell(&mut self, answer: &Answer) -> io::Result<()> {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        timeout(PATIENCE, self.writer.write_all(&line)).await?
    }

    async fn end(&mut self, kind: FaultKind, text: &str) -> io::Result<()> {
        self.tell(&Answer::End(Some(Fault::new(kind, text)))).await
    }
}
