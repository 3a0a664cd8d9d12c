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
    /// A chunk that is not the last ended, or why the message it belongs to is not kept.
    Chunk(Result<(), DataFault>),
}

/// Why a message was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFault {
    /// It was larger than the limit.
    TooLarge,
    /// The caller had no memory for it.
    NoMemory,
}

/// What the octets are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Command lines.
    #[default]
    Lines,
    /// A message up to the final dot.
    Dots,
    /// So many octets more of a message, and whether it ends with them.
    Chunk(u64, bool),
    /// So many octets that nobody wants.
    Skip(u64),
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "Line({} octets)", line.len()),
            Self::LongLine => f.write_str("LongLine"),
            Self::BareLine => f.write_str("BareLine"),
            Self::Data(Ok(data)) => write!(f, "Data({} octets)", data.len()),
            Self::Data(Err(fault)) => write!(f, "Data({fault:?})"),
            Self::Chunk(chunk) => write!(f, "Chunk({chunk:?})"),
        }
    }
}

/// The reading side of one connection.
#[derive(Default)]
pub struct Codec {
    buffer: BytesMut,
    mode: Mode,
    /// The message being read; between its chunks too.
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
        self.mode = Mode::Dots;
    }

    /// From here on the next `size` octets are a message or a piece of it, as they are (RFC 3030 section 2); the first piece
    /// begins a message as [`Codec::begin_data`] does.
    pub fn begin_chunk(&mut self, (size, last): (u64, bool), limit: usize, expected: usize) {
        if self.data.is_none() {
            self.data = Some(DataReader::new(limit, expected));
            self.starved = false;
        }
        self.mode = Mode::Chunk(size, last);
    }

    /// The next `size` octets are of no use.
    pub fn skip(&mut self, size: u64) {
        self.mode = Mode::Skip(size);
    }

    /// Lets the chunks of a message go that is not to be ended.
    pub fn forget(&mut self) {
        if self.mode == Mode::Lines {
            self.data = None;
        }
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
        match self.mode {
            Mode::Lines => self.next_line(),
            Mode::Dots => self.next_data(),
            Mode::Chunk(left, last) => self.next_chunk(left, last),
            Mode::Skip(left) => {
                let taken = self.at_hand(left);
                self.buffer.advance(taken);
                let left = left.saturating_sub(taken as u64);
                self.mode = if left > 0 { Mode::Skip(left) } else { Mode::Lines };
                (left == 0).then(|| self.next_line()).flatten()
            }
        }
    }

    /// How many of the octets that are still to come are here.
    fn at_hand(&self, left: u64) -> usize {
        usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len())
    }

    fn next_data(&mut self) -> Option<Item> {
        let (taken, ended) = self.data.as_mut()?.feed(&self.buffer);
        self.buffer.advance(taken);
        ended.then(|| Item::Data(self.end_data()))
    }

    fn next_chunk(&mut self, left: u64, last: bool) -> Option<Item> {
        let taken = self.at_hand(left);
        let piece = self.buffer.split_to(taken);
        let data = self.data.as_mut()?;
        data.keep(&piece);
        let left = left.saturating_sub(taken as u64);
        self.mode = Mode::Chunk(left, last);
        if left > 0 {
            return None;
        }
        if last {
            return Some(Item::Data(self.end_data()));
        }
        self.mode = Mode::Lines;
        let fault = self.fault();
        Some(Item::Chunk(match fault {
            Some(fault) => {
                let _ = self.end_data();
                Err(fault)
            }
            None => Ok(()),
        }))
    }

    fn fault(&self) -> Option<DataFault> {
        match &self.data {
            _ if self.starved => Some(DataFault::NoMemory),
            Some(data) if data.overflows() => Some(DataFault::TooLarge),
            _ => None,
        }
    }

    fn end_data(&mut self) -> Result<Bytes, DataFault> {
        self.mode = Mode::Lines;
        let fault = self.fault();
        let Some(data) = self.data.take() else { return Err(DataFault::NoMemory) };
        self.received = data.length();
        fault.map_or_else(|| Ok(Bytes::from(data.into_octets())), Err)
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
    fn chunks_are_counted_and_nothing_in_them_ends_them() {
        let wire = b"\r\n.\r\nQUIT\n..xNOOP\r\n";
        for piece in 1..wire.len() {
            let mut codec = Codec::default();
            let (mut items, mut begun) = (Vec::new(), 0);
            codec.begin_chunk((5, false), 100, 0);
            for octets in wire.chunks(piece) {
                codec.buffer().extend_from_slice(octets);
                while let Some(item) = codec.next_item() {
                    if matches!(item, Item::Chunk(_)) && begun == 0 {
                        begun += 1;
                        codec.begin_chunk((8, true), 100, 0);
                    }
                    items.push(item);
                }
            }
            let message = Item::Data(Ok(Bytes::from("\r\n.\r\nQUIT\n..x")));
            assert_eq!(items, [Item::Chunk(Ok(())), message, line("NOOP")], "pieces of {piece}");
            assert_eq!(codec.received(), 13);
        }
    }

    #[test]
    fn a_chunk_beyond_the_limit_tells_and_what_follows_is_skipped() {
        let mut codec = Codec::default();
        codec.begin_chunk((6, false), 5, 0);
        codec.buffer().extend_from_slice(b"012345");
        assert_eq!(codec.next_item(), Some(Item::Chunk(Err(DataFault::TooLarge))));
        assert_eq!((codec.held(), codec.received()), (0, 6));
        codec.skip(4);
        codec.buffer().extend_from_slice(b"ab\r");
        assert_eq!(codec.next_item(), None);
        codec.buffer().extend_from_slice(b"\nNOOP\r\n");
        assert_eq!(codec.next_item(), Some(line("NOOP")));
        codec.begin_chunk((0, true), 5, 0);
        assert_eq!(codec.next_item(), Some(Item::Data(Ok(Bytes::new()))));
    }

    #[test]
    fn a_message_that_is_given_up_between_its_chunks_leaves_nothing() {
        let mut codec = Codec::default();
        codec.begin_chunk((1, false), 5, 0);
        codec.buffer().extend_from_slice(b"x");
        assert_eq!(codec.next_item(), Some(Item::Chunk(Ok(()))));
        codec.forget();
        codec.begin_chunk((1, true), 5, 0);
        codec.buffer().extend_from_slice(b"y");
        assert_eq!(codec.next_item(), Some(Item::Data(Ok(Bytes::from("y")))));
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
