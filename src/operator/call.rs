//! The other side of the control socket.

use std::{io, path::Path, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    sync::mpsc,
    time::timeout,
};

use super::{Answer, Fault, FaultKind, Request, WAITING, encoded};

/// How long a gateway may take for a line of its answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Octets of such a line; the longest tells all of a message, with its header and its attempts.
const LINE: u64 = 64 << 20;

/// Asks the gateway behind a socket; nothing when no gateway is there.
///
/// # Errors
/// A gateway may be there and cannot be spoken to.
pub async fn call(path: &Path, request: &Request, octets: &Bytes) -> Result<Option<mpsc::Receiver<Answer>>, Fault> {
    let stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(Fault::new(FaultKind::Unavailable, format!("{}: {error}", path.display()))),
    };
    let mut lines = serde_json::to_string(request)
        .map_err(|error| Fault::new(FaultKind::Usage, format!("the request cannot be written: {error}")))?;
    lines.push('\n');
    for piece in encoded(octets) {
        lines.push_str(&piece);
        lines.push('\n');
    }
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        if let Err(error) = converse(stream, lines, &sender).await {
            let text = format!("the gateway broke off: {error}");
            let _ = sender.send(Answer::End(Some(Fault::new(FaultKind::Later, text)))).await;
        }
    });
    Ok(Some(receiver))
}

/// Whether nobody listens: no file, one that a gateway left behind, or a path that no socket can have.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput)
}

/// Asks while it listens: a gateway that refuses says so before it has read everything.
async fn converse(stream: UnixStream, lines: String, answers: &mpsc::Sender<Answer>) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let writing = tokio::spawn(async move {
        let _ = writer.write_all(lines.as_bytes()).await;
        writer
    });
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        timeout(PATIENCE, (&mut reader).take(LINE).read_until(b'\n', &mut line)).await??;
        if !line.ends_with(b"\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let answer: Answer = serde_json::from_slice(&line)?;
        let last = matches!(answer, Answer::End(_));
        if answers.send(answer).await.is_err() || last {
            writing.abort();
            return Ok(());
        }
    }
}
