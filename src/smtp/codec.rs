//! Octets of a connection, cut into command lines and messages.
//!
//! The caller appends what it reads to [`Codec::buffer`] and asks for items until there is none. What is held is bounded:
//! a command line by [`LINE_MAX`], a message by its limit.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

use super::data::DataReader;

/// Octets of a command line with its CRLF. RFC 5321 section 4.5.3.1.4 has 512, each extension adds its own.
pub const LINE_MAX: usize = 4096;

/// What the connection holds next. Its `Debug` tells how long it is: a line may be a password.
#[derive(PartialEq, Eq)]
pub enum Item {
    /// A command line without its CRLF.
    Line(Bytes),
    /// A line longer than [`LINE_MAX`]; all of it was skipped.
    LongLine,
    /// A line that a lone LF ended.
    BareLine,
    /// The data ended: the message without dot-stuffing, or why there is none.
    Data(Result<Bytes, DataFault>),
}

/// Why a message was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFault {
    /// It was larger than the limit.
    TooLarge,
    /// The caller had no memory for it.
    NoMemory,
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "Line({} octets)", line.len()),
            Self::LongLine => f.write_str("LongLine"),
            Self::BareLine => f.write_str("BareLine"),
            Self::Data(Ok(data)) => write!(f, "Data({} octets)", data.len()),
            Self::Data(Err(fault)) => write!(f, "Data({fault:?})"),
        }
    }
}

/// The reading side of one connection.
#[derive(Default)]
pub struct Codec {
    buffer: BytesMut,
    data: Option<DataReader>,
    skipping: bool,
    starved: bool,
    received: u64,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Codec({} octets wait)", self.buffer.len())
    }
}

impl Codec {
    /// Where the caller appends octets.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// From here on the octets are a message of at most `limit` octets, of which memory for `expected` is taken at once.
    pub fn begin_data(&mut self, limit: usize, expected: usize) {
        self.data = Some(DataReader::new(limit, expected));
        self.starved = false;
    }

    /// Drops what has come and is no item yet; whether there was anything.
    pub fn discard(&mut self) -> bool {
        self.skipping = false;
        !std::mem::take(&mut self.buffer).is_empty()
    }

    /// Octets of memory that the message being read holds.
    pub fn held(&self) -> usize {
        self.data.as_ref().map_or(0, DataReader::held)
    }

    /// Octets of the last message that was read to its end, kept or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Lets the message being read go; its end will say [`DataFault::NoMemory`].
    pub fn starve(&mut self) {
        if let Some(data) = &mut self.data {
            self.starved = !data.overflows();
            data.discard();
        }
    }

    /// The next item, or `None` when more octets are needed.
    pub fn next_item(&mut self) -> Option<Item> {
        if self.data.is_some() { self.next_data() } else { self.next_line() }
    }

    fn next_data(&mut self) -> Option<Item> {
        let data = self.data.as_mut()?;
        let (taken, ended) = data.feed(&self.buffer);
        self.buffer.advance(taken);
        if !ended {
            return None;
        }
        let overflows = data.overflows();
        self.received = data.length();
        let octets = self.data.take().map(DataReader::into_octets).unwrap_or_default();
        Some(Item::Data(match (self.starved, overflows) {
            (true, _) => Err(DataFault::NoMemory),
            (false, true) => Err(DataFault::TooLarge),
            (false, false) => Ok(Bytes::from(octets)),
        }))
    }

    fn next_line(&mut self) -> Option<Item> {
        let Some(end) = memchr(b'\n', &self.buffer) else {
            if self.buffer.len() >= LINE_MAX {
                self.buffer.clear();
                self.skipping = true;
            }
            return None;
        };
        let mut line = self.buffer.split_to(end + 1);
        if std::mem::take(&mut self.skipping) || line.len() > LINE_MAX {
            return Some(Item::LongLine);
        }
        if !line.ends_with(b"\r\n") {
            return Some(Item::BareLine);
        }
        line.truncate(end - 1);
        Some(Item::Line(line.freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(input: &[u8]) -> Vec<Item> {
        let mut codec = Codec::default();
        codec.buffer().extend_from_slice(input);
        std::iter::from_fn(|| codec.next_item()).collect()
    }

    fn line(text: &'static str) -> Item {
        Item::Line(Bytes::from(text))
    }

    #[test]
    fn lines_end_in_crlf() {
        assert_eq!(items(b"EHLO x\r\nNOOP\nQUIT\r\nRS"), [line("EHLO x"), Item::BareLine, line("QUIT")]);
    }

    #[test]
    fn an_endless_line_is_skipped_in_bounded_memory() {
        let mut codec = Codec::default();
        for _ in 0..1000 {
            codec.buffer().extend_from_slice(&[b'x'; 1000]);
            assert_eq!(codec.next_item(), None);
            assert!(codec.buffer().len() < LINE_MAX + 1000);
        }
        codec.buffer().extend_from_slice(b"\r\nNOOP\r\n");
        assert_eq!(codec.next_item(), Some(Item::LongLine));
        assert_eq!(codec.next_item(), Some(line("NOOP")));
    }

    #[test]
    fn what_is_dropped_is_never_an_item() {
        let mut codec = Codec::default();
        codec.buffer().extend_from_slice(b"STARTTLS\r\nRSET\r\nMAIL FR");
        assert_eq!(codec.next_item(), Some(line("STARTTLS")));
        assert!(codec.discard() && !codec.discard());
        codec.buffer().extend_from_slice(b"NOOP\r\n");
        assert_eq!(codec.next_item(), Some(line("NOOP")));
        assert!(!codec.discard());
    }

    #[test]
    fn a_message_and_the_next_command_in_one_buffer() {
        let mut codec = Codec::default();
        codec.begin_data(100, 0);
        codec.buffer().extend_from_slice(b"x\r\n.\r\nQUIT\r\n");
        assert_eq!(codec.next_item(), Some(Item::Data(Ok(Bytes::from("x\r\n")))));
        assert_eq!(codec.next_item(), Some(line("QUIT")));
    }

    #[test]
    fn a_starved_message_is_read_to_its_end() {
        let mut codec = Codec::default();
        codec.begin_data(100, 50);
        codec.buffer().extend_from_slice(b"x\r\n");
        assert_eq!(codec.next_item(), None);
        codec.starve();
        codec.buffer().extend_from_slice(b"y\r\n.\r\n");
        assert_eq!(codec.held(), 0);
        assert_eq!(codec.next_item(), Some(Item::Data(Err(DataFault::NoMemory))));
        assert_eq!(codec.received(), 6);
    }
}
