//! An SMTP client that sends exactly what it is told.

#![allow(dead_code, reason = "each test file uses what it needs")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpStream},
    path::Path,
    time::Duration,
};

use crate::parties::tunnel::within_tls;

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A complete reply: its code, and its lines without codes, joined by line ends. Code 0 is a closed connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub code: u16,
    pub text: String,
}

/// One connection.
pub struct Smtp {
    stream: BufReader<TcpStream>,
}

impl Smtp {
    /// Connects and reads the greeting.
    pub fn connect(port: u16) -> Self {
        let mut client = Self::silent(port);
        assert_eq!(client.reply().code, 220);
        client
    }

    /// Connects and reads nothing.
    pub fn silent(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Connects and says EHLO, if somebody is there.
    pub fn try_ready(port: u16) -> Option<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_nodelay(true).ok()?;
        let mut client = Self { stream: BufReader::new(stream) };
        (client.reply().code == 220 && client.command("EHLO client.example.org").code == 250).then_some(client)
    }

    /// Connects and says EHLO.
    pub fn ready(port: u16) -> Self {
        let mut client = Self::connect(port);
        assert_eq!(client.command("EHLO client.example.org").code, 250);
        client
    }

    /// Goes on within TLS, with a server whose certificate is of that authority.
    pub fn within_tls(self, ca_file: &Path) -> std::io::Result<Self> {
        assert!(self.stream.buffer().is_empty(), "more was said in clear text");
        let stream = within_tls(self.stream.into_inner(), ca_file)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends octets as they are; that the other side has gone shows at the next reply.
    pub fn send(&mut self, octets: &[u8]) {
        let _ = self.stream.get_mut().write_all(octets);
    }

    /// Reads one line of a reply, without its CRLF; nothing when the other side has gone.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        if matches!(self.stream.read_line(&mut line), Ok(0) | Err(_)) {
            return None;
        }
        let text = line.strip_suffix("\r\n").filter(|_| line.len() <= 512);
        Some(text.unwrap_or_else(|| panic!("a malformed reply line: {line:?}")).to_owned())
    }

    /// Reads one reply.
    pub fn reply(&mut self) -> Reply {
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line() else { return Reply { code: 0, text: lines.join("\n") } };
            let (code, rest) = line.split_at(3);
            lines.push(rest.get(1..).unwrap_or_default().to_owned());
            if !rest.starts_with('-') {
                return Reply { code: code.parse().unwrap(), text: lines.join("\n") };
            }
        }
    }

    /// Sends a line and reads its reply.
    pub fn command(&mut self, line: &str) -> Reply {
        self.send(format!("{line}\r\n").as_bytes());
        self.reply()
    }

    /// MAIL, RCPT and DATA; whether the data is waited for.
    pub fn prepare(&mut self, from: &str, to: &[&str]) -> bool {
        let mut lines = vec![format!("MAIL FROM:<{from}>")];
        lines.extend(to.iter().map(|one| format!("RCPT TO:<{one}>")));
        lines.push("DATA".to_owned());
        lines.iter().all(|line| self.command(line).code < 400)
    }

    /// The data; its reply.
    pub fn data(&mut self, message: &[u8]) -> Reply {
        self.send(&stuffed(message));
        self.reply()
    }

    /// One transaction; the reply to the data, or the first that was not positive.
    pub fn submit(&mut self, from: &str, to: &[&str], message: &[u8]) -> Reply {
        let mut lines = vec![format!("MAIL FROM:<{from}>")];
        lines.extend(to.iter().map(|one| format!("RCPT TO:<{one}>")));
        lines.push("DATA".to_owned());
        for line in lines {
            let reply = self.command(&line);
            if reply.code >= 400 {
                return reply;
            }
        }
        self.send(&stuffed(message));
        self.reply()
    }

    /// Whether the other side says something, or goes, within this time.
    pub fn speaks(&mut self, within: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(within)).unwrap();
        let heard = self.stream.fill_buf().is_ok();
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        heard
    }

    /// All that the other side says until it closes.
    pub fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }

    /// A second handle that writes, for who has to read at the same time.
    pub fn writer(&self) -> TcpStream {
        self.stream.get_ref().try_clone().unwrap()
    }

    /// Leaves, and reads what the other side still says until it goes too.
    pub fn leave(self) -> String {
        let _ = self.stream.get_ref().shutdown(Shutdown::Write);
        String::from_utf8_lossy(&self.rest()).into_owned()
    }

    /// Whether the other side closes the connection, reading away what it still says.
    pub fn closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok()
    }
}

/// A message as it goes behind DATA: dots doubled, its end added.
pub fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 16);
    for line in message.split_inclusive(|octet| *octet == b'\n') {
        if line.starts_with(b".") && (out.is_empty() || out.ends_with(b"\r\n")) {
            out.push(b'.');
        }
        out.extend_from_slice(line);
    }
    if !out.is_empty() && !out.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}

/// What a message was before the gateway put its Received on top; all of it when there is none.
pub fn behind_received(message: &[u8]) -> &[u8] {
    if !message.starts_with(b"Received: from ") {
        return message;
    }
    let ends = message.windows(3).position(|three| three.starts_with(b"\r\n") && !b" \t".contains(&three[2]));
    ends.map_or(message, |end| &message[end + 2..])
}
