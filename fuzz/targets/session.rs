//! A connection: octets in pieces of any size through the codec and the session, as the server drives them, with and
//! without TLS, STARTTLS and logins.
//!
//! The first octet says who the client is and what the listener offers. A client that says STARTTLS waits for the answer;
//! one that says it in small letters does not. With FUZZ_TELL in the environment each input tells what it reached.

#![no_main]

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use headgate::{
    mail::{Client, Enhanced, Id, Reply, Secret},
    smtp::{Codec, Item, Login, LoginEnd, Logins, Next, Offer, Session, Step},
};
use libfuzzer_sys::fuzz_target;

/// Octets of a message at most.
const LIMIT: usize = 2000;
/// Octets read at once at most.
const PIECE: usize = 5000;
/// The command behind which a client waits.
const STARTTLS: &[u8] = b"STARTTLS\r\n";

fuzz_target!(|octets: &[u8]| {
    let Some((seed, octets)) = octets.split_first() else { return };
    // An end of line in a fixture or a hand-written input is LF; half of the inputs are read so.
    let lines = String::from_utf8_lossy(octets).replace('\n', "\r\n");
    let octets = if seed & 1 == 1 { lines.as_bytes() } else { octets };
    let whole = Conversation::default().hear(octets, *seed, |_| usize::MAX);
    let mut state = u32::from(*seed);
    let pieces = Conversation::default().hear(octets, *seed, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 24) as usize % 97
    });
    assert_eq!(whole, pieces, "the size of the pieces changes the conversation");
    static TELL: OnceLock<bool> = OnceLock::new();
    if *TELL.get_or_init(|| std::env::var_os("FUZZ_TELL").is_some()) {
        whole.reached.iter().for_each(|what| eprintln!("reached: {what}"));
    }
});

/// What the listener offers to whom, by the bits of the seed.
fn begin(seed: u8) -> (Offer, Client) {
    let set = |bit: u8| seed >> bit & 1 == 1;
    let logins = match seed >> 1 & 3 {
        1 => Logins::Required,
        2 => Logins::None,
        _ => Logins::Optional,
    };
    let starttls = set(3);
    let offer = Offer {
        hostname: "relay.example.com".into(),
        message_size: LIMIT as u64,
        recipients: 3,
        errors: 9,
        logins,
        starttls,
        lmtp: set(7),
        dsn: set(7) ^ set(6),
        allow: networks(!set(5)),
        trusted: networks(set(6)),
    };
    let address = if set(4) { [127, 0, 0, 1] } else { [192, 0, 2, 1] };
    let mut client = Client::new(address.into(), "smtp");
    // From the first octet on, or not before STARTTLS.
    client.tls = (!starttls).then(|| "TLSv1.3".into());
    (offer, client)
}

/// All networks or none.
fn networks<Network: std::str::FromStr<Err: std::fmt::Debug>>(all: bool) -> Vec<Network> {
    let texts = if all { &["0.0.0.0/0", "::/0"][..] } else { &[] };
    texts.iter().map(|text| text.parse().expect("a network")).collect()
}

/// The octets in the parts that a client sends without waiting.
fn flights(octets: &[u8]) -> Vec<&[u8]> {
    let (mut flights, mut begin) = (Vec::new(), 0);
    for at in 0..octets.len() {
        if octets[at..].starts_with(STARTTLS) && (at == 0 || octets[at - 1] == b'\n') {
            flights.push(&octets[begin..at + STARTTLS.len()]);
            begin = at + STARTTLS.len();
        }
    }
    flights.push(&octets[begin..]);
    flights
}

/// What was said, the messages that were handed in, and the states that were reached.
#[derive(Default, PartialEq, Debug)]
struct Conversation {
    said: Vec<u8>,
    messages: Vec<Bytes>,
    reached: BTreeSet<&'static str>,
    data: bool,
    /// Whether a chunk is read, and the octets of those before it.
    chunk: bool,
    chunks: Vec<u8>,
    /// Octets that were no use, before the next line.
    skipped: usize,
    /// How often the data is answered.
    answers: usize,
    closed: bool,
}

impl Conversation {
    fn hear(mut self, octets: &[u8], seed: u8, mut size: impl FnMut(usize) -> usize) -> Self {
        let (offer, client) = begin(seed);
        let mut session = Session::new(Arc::new(offer), client, Id::nil);
        let mut codec = Codec::default();
        // What stands before the place where the codec is, for each message on its own.
        let mut wire = Vec::new();
        for flight in flights(octets) {
            let mut rest = flight;
            while !rest.is_empty() && !self.closed {
                let (piece, later) = rest.split_at(size(rest.len()).clamp(1, PIECE).min(rest.len()));
                rest = later;
                codec.buffer().extend_from_slice(piece);
                wire.extend_from_slice(piece);
                while let Some(item) = codec.next_item() {
                    let read = wire.len() - codec.buffer().len();
                    let taken: Vec<u8> = wire.drain(..read).collect();
                    self.item(item, (&taken, rest), (&mut session, &mut codec));
                    if self.closed {
                        break;
                    }
                }
                assert!(self.closed || codec.buffer().len() < 4096, "what is held is bounded");
                assert!(codec.held() <= 2 * LIMIT + PIECE);
            }
        }
        let _ = session.lost();
        assert!(!session.in_transaction());
        self
    }

    fn item(&mut self, item: Item, (taken, rest): (&[u8], &[u8]), (session, codec): (&mut Session, &mut Codec)) {
        let wanted = self.data || self.chunk;
        assert_eq!(matches!(item, Item::Data(_) | Item::Chunk(_)), wanted, "data is read when data was asked for");
        let taken = &taken[std::mem::take(&mut self.skipped)..];
        let mut step = match item {
            Item::Line(line) => {
                assert_eq!([&line, &b"\r\n"[..]].concat(), taken);
                session.line(&line)
            }
            Item::LongLine => session.fault(Reply::new(500, Enhanced(5, 5, 6), "The line is too long")),
            Item::BareLine => session.fault(Reply::new(500, Enhanced(5, 5, 2), "A line ends in CRLF")),
            Item::Chunk(chunk) => {
                self.chunk = false;
                self.chunks.extend_from_slice(taken);
                assert_eq!(chunk.is_err(), self.chunks.len() > LIMIT);
                self.reached.insert("a chunk");
                session.chunk(chunk, codec.received())
            }
            Item::Data(data) => {
                if std::mem::take(&mut self.chunk) {
                    self.chunks.extend_from_slice(taken);
                    assert_eq!(data.is_err(), self.chunks.len() > LIMIT);
                    assert!(
                        data.as_ref().is_ok_and(|data| *data == self.chunks) || data.is_err(),
                        "chunks are literal"
                    );
                    self.reached.insert("a message in chunks");
                } else {
                    message_is_whole(&data, taken);
                }
                self.data = false;
                let length = data.as_ref().map_or(0, Bytes::len);
                assert!(data.is_err() || codec.received() == length as u64);
                session.data(data, codec.received())
            }
        };
        match step.next {
            Next::Room(size, envelope) => {
                assert!(step.reply.is_none() && size <= LIMIT as u64);
                step = session.room(*envelope, size % 2 == 0);
            }
            Next::Login(login) => {
                assert!(step.reply.is_none());
                step = self.login(*login, session);
            }
            Next::Recipient(address, asked) => {
                assert!(step.reply.is_none());
                step = session.recipient(*address, asked, None);
            }
            Next::Handshake if codec.discard() || !rest.is_empty() => {
                self.reached.insert("something behind STARTTLS");
                step = session.pipelined();
            }
            next => step.next = next,
        }
        let handshake = matches!(step.next, Next::Handshake);
        if !session.in_transaction() {
            codec.forget();
            self.chunks.clear();
        }
        self.answers = session.answers();
        self.perform(step, codec);
        if handshake {
            self.reached.insert("TLS by STARTTLS");
            session.secured("TLSv1.3");
            assert!(!session.in_transaction() && session.client().login.is_none() && !session.client().extended);
        }
        self.look(session);
    }

    /// Has a login checked. Of three passwords one is right, one is wrong and one comes too often.
    fn login(&mut self, login: Login, session: &mut Session) -> Step {
        let client = session.client();
        assert!(client.tls.is_some() || client.address.is_loopback(), "a password in the clear");
        let shown = format!("{login:?}");
        let Login { name, password, as_another } = login;
        assert!(!name.is_empty() && !name.chars().any(|one| one.is_control() || one.is_whitespace()));
        let another = Login { name: name.clone(), password: Secret::new("another"), as_another };
        assert!(password.is_empty() || shown == format!("{another:?}"), "Debug tells a password");
        let end = match password.reveal().len() % 3 {
            // That of the fixtures is among them.
            2 => LoginEnd::Right,
            1 => LoginEnd::Wrong,
            _ => LoginEnd::Blocked,
        };
        self.reached.insert(match (end, as_another) {
            (LoginEnd::Right, false) => "a login",
            (LoginEnd::Right, true) => "a login as another",
            (LoginEnd::Wrong, _) => "a wrong login",
            (LoginEnd::Blocked, _) => "a blocked login",
        });
        let step = session.login(name, as_another, end);
        assert_eq!(session.client().login.is_some(), end == LoginEnd::Right && !as_another);
        step
    }

    /// Notes where a transaction has come to, and sees that nobody has one who may not.
    fn look(&mut self, session: &Session) {
        let client = session.client();
        if session.in_transaction() {
            self.reached.insert(match (client.login.is_some(), client.tls.is_some()) {
                (true, true) => "a transaction behind a login within TLS",
                (true, false) => "a transaction behind a login",
                (false, true) => "a transaction within TLS",
                (false, false) => "a transaction",
            });
        }
        if !self.messages.is_empty() && client.login.is_some() {
            self.reached.insert("a message behind a login");
        }
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
                    Next::Handshake => assert_eq!(reply.code(), 220),
                    Next::Skip(size) => {
                        codec.skip(size);
                        self.skipped = usize::try_from(size).unwrap_or(usize::MAX);
                    }
                    Next::Room(..)
                    | Next::Login(_)
                    | Next::Recipient(..)
                    | Next::Answer(_)
                    | Next::Chunk(..)
                    | Next::Submit(_) => {
                        panic!("one command, one reply")
                    }
                }
            }
            (None, Next::Submit(transaction)) => {
                assert!((1..=3).contains(&transaction.envelope.recipients.len()));
                assert!(transaction.raw.len() <= LIMIT);
                self.messages.push(transaction.raw);
                (0..self.answers).for_each(|_| self.reply(&Reply::new(250, Enhanced(2, 0, 0), "Ok")));
            }
            (None, Next::Answer(reply)) => (0..self.answers).for_each(|_| self.reply(&reply)),
            (None, Next::Chunk(size, last)) => {
                codec.begin_chunk((size, last), LIMIT, LIMIT);
                self.chunk = true;
            }
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
