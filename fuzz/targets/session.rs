//! A connection: octets in pieces of any size through the codec and the session, as the server drives them.

#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use headgate::{
    mail::{Client, Enhanced, Id, Reply},
    smtp::{Codec, Item, Login, LoginEnd, Logins, Next, Offer, Session, Step},
};
use libfuzzer_sys::fuzz_target;

/// Octets of a message at most.
const LIMIT: usize = 2000;
/// Octets read at once at most.
const PIECE: usize = 5000;

fuzz_target!(|octets: &[u8]| {
    let Some((seed, octets)) = octets.split_first() else { return };
    // An end of line in a fixture or a hand-written input is LF; half of the inputs are read so.
    let lines = String::from_utf8_lossy(octets).replace('\n', "\r\n");
    let octets = if seed & 1 == 1 { lines.as_bytes() } else { octets };
    let whole = Conversation::default().hear(octets, |_| usize::MAX);
    let mut state = u32::from(*seed);
    let pieces = Conversation::default().hear(octets, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 24) as usize % 97
    });
    assert_eq!(whole, pieces, "the size of the pieces changes the conversation");
});

/// What was said, and the messages that were handed in.
#[derive(Default, PartialEq, Debug)]
struct Conversation {
    said: Vec<u8>,
    messages: Vec<Bytes>,
    data: bool,
    closed: bool,
}

impl Conversation {
    fn hear(mut self, octets: &[u8], mut size: impl FnMut(usize) -> usize) -> (Vec<u8>, Vec<Bytes>) {
        let offer =
            Offer { hostname: "relay.example.com".into(), message_size: LIMIT as u64, recipients: 3, errors: 9, logins: Logins::Optional, starttls: false, lmtp: false, dsn: true, allow: vec!["192.0.2.0/24".parse().expect("a network")], trusted: vec!["192.0.2.1/32".parse().expect("a network")] };
        let mut client = Client::new([192, 0, 2, 1].into(), "smtp");
        // Without it no login is ever taken.
        client.tls = Some("TLSv1.3".into());
        let mut session = Session::new(Arc::new(offer), client, Id::nil);
        let mut codec = Codec::default();
        let mut rest = octets;
        // What stands before the place where the codec is, for each message on its own.
        let mut wire = Vec::new();
        while !rest.is_empty() && !self.closed {
            let (piece, later) = rest.split_at(size(rest.len()).clamp(1, PIECE).min(rest.len()));
            rest = later;
            codec.buffer().extend_from_slice(piece);
            wire.extend_from_slice(piece);
            while let Some(item) = codec.next_item() {
                let read = wire.len() - codec.buffer().len();
                let taken: Vec<u8> = wire.drain(..read).collect();
                self.item(item, &taken, (&mut session, &mut codec));
                if self.closed {
                    break;
                }
            }
            assert!(self.closed || codec.buffer().len() < 4096, "what is held is bounded");
            assert!(codec.held() <= 2 * LIMIT + PIECE);
        }
        let _ = session.lost();
        assert!(!session.in_transaction());
        (self.said, self.messages)
    }

    fn item(&mut self, item: Item, taken: &[u8], (session, codec): (&mut Session, &mut Codec)) {
        assert_eq!(matches!(item, Item::Data(_)), self.data, "data is read when data was asked for");
        let mut step = match item {
            Item::Line(line) => {
                assert_eq!([&line, &b"\r\n"[..]].concat(), taken);
                session.line(&line)
            }
            Item::LongLine => session.fault(Reply::new(500, Enhanced(5, 5, 6), "The line is too long")),
            Item::BareLine => session.fault(Reply::new(500, Enhanced(5, 5, 2), "A line ends in CRLF")),
            Item::Data(data) => {
                message_is_whole(&data, taken);
                self.data = false;
                let length = data.as_ref().map_or(0, Bytes::len);
                assert!(data.is_err() || codec.received() == length as u64);
                session.data(data, codec.received())
            }
        };
        if let Next::Room(size, envelope) = step.next {
            assert!(step.reply.is_none() && size <= LIMIT as u64);
            step = session.room(*envelope, size % 2 == 0);
        } else if let Next::Login(login) = step.next {
            assert!(step.reply.is_none());
            let Login { name, password, as_another } = *login;
            let end = match password.reveal().len() % 3 {
                0 => LoginEnd::Right,
                1 => LoginEnd::Wrong,
                _ => LoginEnd::Blocked,
            };
            step = session.login(name, as_another, end);
        } else if let Next::Recipient(address, asked) = step.next {
            assert!(step.reply.is_none());
            step = session.recipient(*address, asked, None);
        }
        self.perform(step, codec);
    }

    fn perform(&mut self, step: Step, codec: &mut Codec) {
        match (step.reply, step.next) {
            (Some(reply), next) => {
                self.reply(&reply);
                match next {
                    Next::Command => assert_ne!(reply.code(), 354),
                    Next::Data => {
                        assert_eq!(reply.code(), 354);
                        codec.begin_data(LIMIT, LIMIT);
                        self.data = true;
                    }
                    Next::Close => self.closed = true,
                    Next::Room(..)
                    | Next::Login(_)
                    | Next::Recipient(..)
                    | Next::Answer(_)
                    | Next::Submit(_)
                    | Next::Handshake => {
                        panic!("one command, one reply")
                    }
                }
            }
            (None, Next::Submit(transaction)) => {
                assert!((1..=3).contains(&transaction.envelope.recipients.len()));
                assert!(transaction.raw.len() <= LIMIT);
                self.messages.push(transaction.raw);
                self.reply(&Reply::new(250, Enhanced(2, 0, 0), "Ok"));
            }
            (None, Next::Answer(reply)) => self.reply(&reply),
            (None, next) => panic!("a command without a reply: {next:?}"),
        }
    }

    /// A reply is lines of one code (RFC 5321 section 4.2), whatever the client had said.
    fn reply(&mut self, reply: &Reply) {
        let mut out = Vec::new();
        reply.write(&mut out);
        let text = out.strip_suffix(b"\r\n").expect("a reply ends in CRLF");
        let mut lines = text.split(|octet| *octet == b'\n').peekable();
        while let Some(line) = lines.next() {
            let line = if lines.peek().is_some() { line.strip_suffix(b"\r").expect("CRLF") } else { line };
            assert!(line.len() <= 510, "{}", line.escape_ascii());
            assert!(line.starts_with(reply.code().to_string().as_bytes()));
            assert_eq!(line.get(3), Some(if lines.peek().is_some() { &b'-' } else { &b' ' }));
            assert!(line.iter().all(|octet| !octet.is_ascii_control()), "{}", line.escape_ascii());
        }
        self.said.extend_from_slice(&out);
    }
}

/// Only CRLF `.` CRLF ends the data, the first one that there is; the message is what stands before, unstuffed.
fn message_is_whole(data: &Result<Bytes, headgate::smtp::DataFault>, taken: &[u8]) {
    let stuffed = taken.strip_suffix(b".\r\n").expect("data ends in a dot");
    assert!(stuffed.is_empty() || stuffed.ends_with(b"\r\n"));
    assert!(!stuffed.starts_with(b".\r\n"));
    assert!(!stuffed.windows(5).any(|five| five == b"\r\n.\r\n"));
    let mut plain = Vec::new();
    for (at, octet) in stuffed.iter().copied().enumerate() {
        if octet != b'.' || at > 0 && !stuffed[..at].ends_with(b"\r\n") {
            plain.push(octet);
        }
    }
    match data {
        Ok(message) => assert_eq!(message, &plain),
        Err(_) => assert!(plain.len() > LIMIT),
    }
}
