//! What swaks, curl and Python's smtplib submit arrives octet for octet behind our own Received.

use std::fs;

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway},
    parties::clients::CLIENTS,
    smtp::behind_received,
};

/// Messages by the thing in them that a careless server or client spoils.
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    const HEADER: &[u8] =
        b"From: \"a, b\" <a@example.com>\r\nTo: b@example.net\r\nsubject:  two  blanks \r\n\tfolded\r\n";
    let with_body = |body: &[u8]| [HEADER, b"\r\n", body].concat();
    let octets: Vec<u8> = (1..=255).filter(|octet| !b"\r\n".contains(octet)).collect();
    let long = [b'x'; 998];
    vec![
        ("dots", with_body(b".\r\n..\r\n...\r\n.a\r\n..b\r\na.\r\n\r\n.\r\n")),
        ("dots behind an empty line", with_body(b"\r\n.\r\n\r\n..\r\n\r\n")),
        ("lines of 998 octets", with_body(&[&long[..], b"\r\n.", &long[1..], b"\r\n", &long, b"\r\n"].concat())),
        ("every octet", with_body(&[&octets[..], b"\r\n"].concat())),
        ("an empty body", with_body(b"")),
        ("no body and no empty line", HEADER.to_vec()),
        ("a body of one empty line", with_body(b"\r\n")),
    ]
}

#[test]
fn what_a_client_sends_is_what_ses_gets_behind_our_received() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    for (name, send) in CLIENTS {
        for (hazard, message) in messages() {
            let before = fake.accepted().len();
            let output = send(gateway.port(), "a@example.com", &["b@example.net", "c@example.net"], &message);
            assert!(output.status.success(), "{name}, {hazard}: {output:?}");
            let accepted = fake.accepted();
            let [call] = &accepted[before..] else { panic!("{name}, {hazard}: {accepted:?}") };
            assert!(call.raw.starts_with(b"Received: from client.example.com ([127.0.0.1]) by relay.example.com"));
            assert_same(&format!("{name}, {hazard}"), behind_received(&call.raw), &message);
            assert_eq!(call.to, ["b@example.net", "c@example.net"], "{name}, {hazard}");
        }
    }
    let sizes: Vec<_> = gateway.records("message", 28).iter().map(|record| record["size"].as_u64()).collect();
    let expected: Vec<_> = CLIENTS.iter().flat_map(|_| messages()).map(|(_, one)| Some(one.len() as u64)).collect();
    assert_eq!(sizes, expected);
}

#[test]
fn what_a_client_sends_is_what_lies_in_the_outbox_behind_our_received() {
    let outbox = "[[upstream]]\nname = \"outbox\"\nkind = \"outbox\"\npath = \"outbox\"\n";
    let gateway = Gateway::start(&format!("{BASE}{outbox}"));
    for (name, send) in CLIENTS {
        for (hazard, message) in messages() {
            let output = send(gateway.port(), "a@example.com", &["b@example.net"], &message);
            assert!(output.status.success(), "{name}, {hazard}: {output:?}");
            let files: Vec<_> = fs::read_dir(gateway.path("outbox/new")).unwrap().map(|file| file.unwrap()).collect();
            let [file] = files.as_slice() else { panic!("{name}, {hazard}: {files:?}") };
            assert_same(&format!("{name}, {hazard}"), behind_received(&fs::read(file.path()).unwrap()), &message);
            fs::remove_file(file.path()).unwrap();
        }
    }
    assert_eq!(fs::read_dir(gateway.path("outbox/tmp")).unwrap().count(), 0);
}

fn assert_same(what: &str, arrived: &[u8], sent: &[u8]) {
    assert!(arrived == sent, "{what}: {:?} arrived of {:?}", arrived.escape_ascii(), sent.escape_ascii());
}
