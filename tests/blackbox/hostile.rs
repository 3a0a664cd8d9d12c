//! Clients and messages that are broken, malicious or gone: each is answered or put away, and the next one is served.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    thread,
};

use serde_json::Value;

use crate::{
    fake_ses::{Answer, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, wait_until},
    smtp::{Smtp, behind_received},
};

const MAIL: &[u8] = b"From: a@example.com\r\nSubject: hello\r\n\r\nhi\r\n";

#[test]
fn without_its_repair_nul_arrives_as_it_is() {
    let fake = FakeSes::start(Profile::Today);
    let unmended = ["rules.files=builtin:ses-minimal".to_owned()];
    let gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &unmended);
    let mail = b"From: a@example.com\r\nSubject: a\0b\r\n\r\n\0\r\nhi\0\0\r\n\0";
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], mail);
    assert_eq!(reply.code, 250, "{reply:?}");
    assert_eq!(behind_received(&fake.accepted()[0].raw), [&mail[..], b"\r\n"].concat());
}

#[test]
fn a_message_that_ses_would_not_take_is_refused_with_the_cause() {
    let fake = FakeSes::start(Profile::Today);
    let unmended = ["rules.files=builtin:ses-minimal".to_owned()];
    let gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &unmended);
    let mut client = Smtp::ready(gateway.port());
    let cases: [(&[u8], &str); 7] = [
        (b"", "Missing required header 'From'."),
        (b"\r\nno header at all\r\n", "Missing required header 'From'."),
        (b"no header at all\r\n", "this is no header field: \"no header at all\""),
        (b"To: b@example.net\r\n\r\nhi\r\n", "Missing required header 'From'."),
        (b"From: a@example.com\r\nbroken line\r\nSubject: x\r\n\r\nhi\r\n", "this is no header field: \"broken line\""),
        (b"From: a@example.com\r\n: x\r\n\r\nhi\r\n", "Empty header names are illegal"),
        (b" folded first\r\nFrom: a@example.com\r\n\r\nhi\r\n", "its first line belongs to no field"),
    ];
    for (mail, cause) in cases {
        let reply = client.submit("a@example.com", &["b@example.net"], mail);
        let shown = mail.escape_ascii();
        assert_eq!((reply.code, reply.text.starts_with("5.6.0 ")), (554, true), "{shown}: {reply:?}");
        assert!(reply.text.contains(cause), "{shown}: {reply:?}");
    }
    let records = gateway.records("message", 7);
    assert!(records.len() == 7 && records.iter().all(|record| record["outcome"] == "refused"), "{records:?}");
    assert_eq!(fake.counts().received, 0);
    assert_eq!(client.submit("a@example.com", &["b@example.net"], MAIL).code, 250);
}

#[test]
fn a_client_that_goes_leaves_one_aborted_line_for_a_transaction_it_began() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let (mail, rcpt) = ("MAIL FROM:<a@example.com>\r\n", "RCPT TO:<b@example.net>\r\n");
    let begun = [
        vec![mail],
        vec![mail, rcpt],
        vec![mail, "RCPT TO:<\r\n"],
        vec![mail, rcpt, "RCPT"],
        vec![mail, rcpt, "DATA\r\n"],
        vec![mail, rcpt, "DATA\r\n", "From: a@example.com\r\n"],
        vec![mail, rcpt, "DATA\r\n", "From: a@example.com\r\n\r\nhi\r\n."],
        vec![mail, rcpt, "DATA\r\n", "From: a@example.com\r\n\r\nhi\r\n.\r"],
        vec![mail, rcpt, "RSET\r\n"],
        vec![mail, rcpt, "QUIT\r\n"],
        vec![mail, rcpt, "EHLO client.example.org\r\n"],
    ];
    let not_begun = [vec![], vec!["MAIL FROM:<a@example.com>"], vec!["NOOP\r\n"], vec!["QUIT\r\n"], vec!["RSET\r\n"]];
    drop(Smtp::silent(gateway.port()));
    drop(Smtp::connect(gateway.port()));
    for lines in begun.iter().chain(&not_begun) {
        let mut client = Smtp::ready(gateway.port());
        for line in lines {
            client.send(line.as_bytes());
            // What is not complete has no reply.
            if line.ends_with("\r\n") && !line.starts_with("From:") {
                assert_ne!(client.reply().code, 0, "{lines:?}");
            }
        }
    }
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_open_sessions") == 0));
    let records = gateway.records("message", begun.len());
    assert_eq!(records.len(), begun.len(), "{}", gateway.log());
    assert!(records.iter().all(|record| record["outcome"] == "aborted"), "{}", gateway.log());
    assert_eq!(gateway.metric("headgate_messages_total{outcome=\"aborted\"}"), begun.len() as u64);
    assert_eq!(fake.counts().received, 0);
}

#[test]
fn a_client_that_goes_before_the_reply_has_its_mail_delivered_and_one_line() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    fake.script([Answer::Hang]);
    let mut client = Smtp::ready(gateway.port());
    for line in ["MAIL FROM:<a@example.com>", "RCPT TO:<b@example.net>", "DATA"] {
        assert!(client.command(line).code < 400);
    }
    client.send(&[MAIL, b".\r\n"].concat());
    assert!(fake.wait_for_calls(1, PATIENCE));
    drop(client);
    fake.release();
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_open_sessions") == 0));
    let records = gateway.records("message", 1);
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(record["outcome"], "delivered");
    assert_eq!(record["ses_id"].as_str(), fake.accepted()[0].message_id());
}

#[test]
fn garbage_on_many_connections_harms_nobody_else() {
    let given = std::env::var("GARBAGE_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("GARBAGE_SEED={seed} gives the same garbage again");
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::start(&format!("{BASE}{}[limits]\nerrors = 1000000\n", ses(&fake.endpoint())));
    let port = gateway.port();
    let heard: Vec<Vec<u8>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|number| {
                scope.spawn(move || {
                    let client = Smtp::connect(port);
                    let mut writer = client.writer();
                    scope.spawn(move || {
                        let garbage = Garbage(seed ^ number).octets(500, number % 2 == 0);
                        let _ = writer.write_all(&garbage);
                        let _ = writer.shutdown(std::net::Shutdown::Write);
                    });
                    client.rest()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_open_sessions") == 0));
    assert!(gateway.runs() && !gateway.stderr().contains("panicked"), "{}", gateway.stderr());
    let begun = heard.iter().map(|octets| count(octets, b"250 2.1.0 ")).sum();
    let records = gateway.records("message", begun);
    assert_eq!(records.len(), begun, "one line for each transaction");
    let mut outcomes: HashMap<&str, u64> = HashMap::new();
    records
        .iter()
        .filter_map(|record| record["outcome"].as_str())
        .for_each(|word| *outcomes.entry(word).or_default() += 1);
    println!("{outcomes:?}");
    assert_eq!(outcomes.get("delivered").copied().unwrap_or_default(), fake.counts().accepted);
    let delivered = records.iter().filter(|record| record["outcome"] == "delivered");
    assert!(delivered.map(|record| &record["ses_id"]).all(Value::is_string));

    assert_eq!(Smtp::ready(port).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
}

fn count(octets: &[u8], what: &[u8]) -> usize {
    octets.windows(what.len()).filter(|window| *window == what).count()
}

/// What real clients say, for garbage that gets further than the first line.
const PIECES: [&[u8]; 21] = [
    b"RSET\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.net>\r\nDATA\r\nFrom: a@example.com\r\n\r\nhi\r\n.\r\n",
    b"EHLO client.example.org\r\n",
    b"HELO x\r\n",
    b"MAIL FROM:<a@example.com>\r\n",
    b"MAIL FROM:<a@example.com> SIZE=100 BODY=8BITMIME SMTPUTF8\r\n",
    b"MAIL FROM:<>\r\n",
    b"RCPT TO:<b@example.net>\r\n",
    b"RCPT TO:<\"q q\"@example.net>\r\n",
    b"DATA\r\n",
    b"From: a@example.com\r\n\r\n",
    b"Subject: =?utf-8?B?",
    b"X-RT-Originator: \r\n ",
    b"\r\n.\r\n",
    b"\n.\n",
    b".",
    b"\r\n",
    b"\r",
    b"\n",
    b"\0",
    b"RSET\r\n",
    b"\xff\xfe\r\n",
];

/// A xorshift generator: the same seed gives the same octets.
struct Garbage(u64);

impl Garbage {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// So many pieces: known ones with a little noise, or nothing but noise.
    fn octets(&mut self, pieces: usize, known: bool) -> Vec<u8> {
        let mut octets = Vec::new();
        for _ in 0..pieces {
            let piece = PIECES.get(self.next() as usize % (PIECES.len() + 1));
            match piece.filter(|_| known) {
                Some(piece) => octets.extend_from_slice(piece),
                None => (0..self.next() % 64).for_each(|_| octets.push(self.next() as u8)),
            }
        }
        octets
    }
}
