//! The octets between 354 and the final dot (RFC 5321 section 4.1.1.4).
//!
//! Only CRLF `.` CRLF ends the data, and only a dot behind CRLF is unstuffed; a lone CR or LF is an octet of the
//! message like any other, so nothing that another server reads as an end of data can end it here.

use memchr::memchr;

/// Octets from which on a message is a large one.
const LARGE: usize = 4 << 20;
/// Octets of address space that a large message gets at once: more than glibc ever learns to keep for itself, so that its
/// memory goes back to the system when it is freed. What has not been written to takes no memory.
const APART: usize = (32 << 20) + 4096;

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Behind CRLF, or at the very beginning.
    LineStart,
    /// Behind a dot at the start of a line; the dot is withheld.
    Dot,
    /// Behind that dot and a CR, both withheld.
    DotReturn,
    /// Inside a line.
    Inside,
}

/// Collects one message; keeps at most `limit` octets and counts on beyond.
#[derive(Debug)]
pub(super) struct DataReader {
    at: At,
    last: u8,
    octets: Vec<u8>,
    length: u64,
    limit: usize,
}

impl DataReader {
    /// For a message that should have about that many octets.
    pub(super) fn new(limit: usize, expected: usize) -> Self {
        let expected = expected.min(limit);
        let octets = Vec::with_capacity(if expected < LARGE { expected } else { expected.max(APART) });
        Self { at: At::LineStart, last: b'\n', octets, length: 0, limit }
    }

    /// Takes octets up to the end of the data; says how many it took and whether the end was among them.
    pub(super) fn feed(&mut self, input: &[u8]) -> (usize, bool) {
        let mut taken = 0;
        while let Some(rest) = input.get(taken..).filter(|rest| !rest.is_empty()) {
            let first = rest.first().copied().unwrap_or_default();
            match (self.at, first) {
                (At::LineStart, b'.') => (self.at, taken) = (At::Dot, taken + 1),
                (At::Dot, b'\r') => (self.at, taken) = (At::DotReturn, taken + 1),
                (At::DotReturn, b'\n') => return (taken + 1, true),
                (At::DotReturn, _) => {
                    self.keep(b"\r");
                    self.at = At::Inside;
                }
                (At::LineStart | At::Dot | At::Inside, _) => taken += self.line(rest),
            }
        }
        (taken, false)
    }

    /// Takes the rest of a line, or all there is of it.
    fn line(&mut self, rest: &[u8]) -> usize {
        let length = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let piece = rest.get(..length).unwrap_or_default();
        let before = piece.len().checked_sub(2).and_then(|at| piece.get(at)).copied().unwrap_or(self.last);
        self.at = if piece.ends_with(b"\n") && before == b'\r' { At::LineStart } else { At::Inside };
        self.keep(piece);
        length
    }

    /// Takes octets of the message as they are.
    pub(super) fn keep(&mut self, piece: &[u8]) {
        self.last = piece.last().copied().unwrap_or(self.last);
        self.length = self.length.saturating_add(piece.len() as u64);
        if self.overflows() {
            self.octets = Vec::new();
        } else {
            self.make_room(piece.len());
            self.octets.extend_from_slice(piece);
        }
    }

    fn make_room(&mut self, more: usize) {
        let (capacity, needed) = (self.octets.capacity(), self.octets.len() + more);
        // A vector doubles, and this doubling would be the one beyond a small message.
        if needed > capacity && needed.max(capacity * 2) > LARGE && needed < APART {
            self.octets.reserve_exact(APART - self.octets.len());
        }
    }

    /// Whether more came than may be kept.
    pub(super) fn overflows(&self) -> bool {
        self.length > self.limit as u64
    }

    /// Octets held in memory.
    pub(super) fn held(&self) -> usize {
        if self.octets.capacity() < APART { self.octets.capacity() } else { self.octets.len() }
    }

    /// Octets of the message so far, kept or not.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Frees what is held and keeps nothing more.
    pub(super) fn discard(&mut self) {
        self.limit = 0;
        self.octets = Vec::new();
    }

    /// The message; a small one in no more memory than it needs when much more was expected.
    pub(super) fn into_octets(mut self) -> Vec<u8> {
        if self.octets.len() < LARGE && self.octets.capacity() / 2 > self.octets.len() {
            self.octets.shrink_to_fit();
        }
        self.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds in pieces of each size; gives the message and what was left over.
    fn read(input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut results = (1..=input.len().max(1)).map(|size| {
            let mut reader = DataReader::new(1 << 20, 0);
            let mut consumed = 0;
            for piece in input.chunks(size) {
                let (taken, ended) = reader.feed(piece);
                consumed += taken;
                if ended {
                    break;
                }
            }
            (reader.into_octets(), input[consumed..].to_vec())
        });
        let first = results.next().unwrap();
        assert!(results.all(|other| other == first), "the size of the pieces changes the message");
        first
    }

    #[test]
    fn an_empty_message_ends_at_once() {
        assert_eq!(read(b".\r\nQUIT\r\n"), (vec![], b"QUIT\r\n".to_vec()));
    }

    #[test]
    fn dots_are_unstuffed_behind_crlf_only() {
        assert_eq!(read(b"..y\r\n...\r\na\n..b\r\n.\r\n").0, b".y\r\n..\r\na\n..b\r\n");
    }

    #[test]
    fn only_crlf_dot_crlf_ends_the_data() {
        for fake in
            ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r.\r\n", "\r\n\0.\r\n", "\n.\r", "\r\n.\r\r\n"]
        {
            let input = format!("a{fake}b\r\n.\r\nrest");
            let (message, rest) = read(input.as_bytes());
            assert_eq!(rest, b"rest", "{fake:?}");
            assert!(message.ends_with(b"b\r\n"), "{fake:?}");
        }
    }

    #[test]
    fn beyond_the_limit_nothing_is_kept_but_the_end_is_found() {
        let mut reader = DataReader::new(10, 20);
        let (taken, ended) = reader.feed(b"0123456789\r\n.\r\nNOOP\r\n");
        assert!(ended && reader.overflows());
        assert_eq!((taken, reader.length(), reader.held()), (15, 12, 0));
    }

    #[test]
    fn a_large_message_counts_with_its_octets_and_a_small_one_with_its_memory() {
        for expected in [0, 1_000, 8_999_999, 9_000_000, 50_000_000] {
            let mut reader = DataReader::new(10_000_000, expected);
            for sent in 1..=9_000 {
                reader.feed(&[b'x'; 1000]);
                let most = if sent * 1000 < LARGE { LARGE } else { sent * 1000 };
                assert!((sent * 1000..=most).contains(&reader.held()), "{expected}, {sent}: {}", reader.held());
            }
            assert!(reader.octets.capacity() >= APART);
        }
        let mut reader = DataReader::new(10_000_000, 9_000_000);
        reader.feed(b"x\r\n.\r\n");
        assert!(reader.into_octets().capacity() < 100);
    }

    #[test]
    fn agrees_with_smtp_proto_on_plain_messages() {
        use smtp_proto::request::receiver::DataReceiver;
        for input in ["a\r\n.\r\n", "a\r\n..b\r\nc\n.\nd\r\n.\r\n", "x\r\n\r\n.\r\n"] {
            let mut receiver = DataReceiver::new();
            let mut theirs = Vec::new();
            assert!(receiver.ingest(&mut input.as_bytes().iter(), &mut theirs));
            assert_eq!(read(input.as_bytes()).0, theirs, "{input:?}");
        }
    }
}
