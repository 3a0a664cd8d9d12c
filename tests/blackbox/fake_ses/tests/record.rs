//! What the record holds, how it is waited for, and the reader of a recorded message.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::super::{Call, FakeSes, Profile};
use super::client::{AUTHORIZATION, Client, MAIL, PATIENCE, SEND, asked, asked_with, only};

#[test]
fn a_call_is_recorded_whole() {
    let fake = FakeSes::start(Profile::Today);
    let mut asked = asked(MAIL.as_bytes());
    asked["Destination"] = json!({
        "ToAddresses": ["t@example.net"], "CcAddresses": ["c@example.net"], "BccAddresses": ["b@example.net"],
    });
    asked["FeedbackForwardingEmailAddress"] = json!("bounces@example.com");
    asked["FromEmailAddress"] = json!("Ann <ann@example.com>");
    asked["ConfigurationSetName"] = json!("set");
    asked["EmailTags"] = json!([{ "Name": "id", "Value": "01H" }, { "Name": "k", "Value": "v" }]);
    asked["FromEmailAddressIdentityArn"] = json!("arn:aws:ses:us-east-1:1:identity/example.com");
    assert_eq!(Client::of(&fake).send(&asked).unwrap().status, 200);
    let call = only(&fake);
    assert_eq!(call.number, 1);
    assert_eq!((&call.to[..], &call.cc[..]), (&["t@example.net".into()][..], &["c@example.net".into()][..]));
    let all: Vec<&str> = call.recipients().collect();
    assert_eq!(all, ["t@example.net", "c@example.net", "b@example.net"]);
    assert_eq!(call.feedback.as_deref(), Some("bounces@example.com"));
    assert_eq!(call.from_email_address.as_deref(), Some("Ann <ann@example.com>"));
    assert_eq!(call.configuration_set.as_deref(), Some("set"));
    assert_eq!((call.tag("id"), call.tag("k"), call.tag("x")), (Some("01H"), Some("v"), None));
    assert_eq!(call.request["FromEmailAddressIdentityArn"], asked["FromEmailAddressIdentityArn"]);
    assert!(call.request["Content"].is_null());
    assert_eq!(call.raw, MAIL.as_bytes());
    assert_eq!((call.access_key.as_str(), call.status()), ("AKIDEXAMPLE", Some(200)));
    assert_eq!(fake.counts().recipients, 3);
}

#[test]
fn what_is_absent_is_absent_in_the_record() {
    let fake = FakeSes::start(Profile::Today);
    let asked = asked_with("FeedbackForwardingEmailAddress", json!(null));
    assert_eq!(Client::of(&fake).send(&asked).unwrap().status, 200);
    let call = only(&fake);
    assert_eq!((&call.feedback, &call.from_email_address, &call.configuration_set), (&None, &None, &None));
    assert!(call.tags.is_empty() && call.cc.is_empty() && call.bcc.is_empty());
}

#[test]
fn octets_of_a_message_arrive_as_they_were() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let body: Vec<u8> = (0..=255).filter(|octet| !b"\r\n".contains(octet)).collect();
    for length in 0..64 {
        let message = [MAIL.as_bytes(), &body[..length * 4 - length]].concat();
        assert_eq!(client.send(&asked(&message)).unwrap().status, 200);
        assert_eq!(fake.calls().last().unwrap().raw, message);
    }
}

#[test]
fn waiting_ends_with_the_event_or_the_time() {
    let fake = FakeSes::start(Profile::Today);
    assert!(fake.wait_for_calls(0, Duration::ZERO));
    assert!(!fake.wait_for_calls(1, Duration::from_millis(1)));
    thread::scope(|scope| {
        let waits = scope.spawn(|| fake.wait_for_calls(3, PATIENCE));
        let accepted = scope.spawn(|| fake.wait_for_accepted(3, PATIENCE));
        for _ in 0..3 {
            scope.spawn(|| Client::of(&fake).send(&asked(MAIL.as_bytes())));
        }
        assert!(waits.join().unwrap() && accepted.join().unwrap());
    });
    let numbers: Vec<u64> = fake.calls().iter().map(|call| call.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn calls_are_in_the_order_of_their_arrival_though_a_later_one_overtakes() {
    let fake = FakeSes::start(Profile::Today);
    let body = asked_with("Destination", json!({ "ToAddresses": ["slow@example.net"] })).to_string();
    let (begin, end) = body.as_bytes().split_at(20);
    let length = body.len().to_string();
    let mut slow = Client::of(&fake);
    let headers = [("Authorization", AUTHORIZATION), ("Content-Length", length.as_str())];
    slow.request(&format!("POST {SEND}"), &headers, b"");
    slow.write(begin);
    assert_eq!(Client::of(&fake).send(&asked(MAIL.as_bytes())).unwrap().status, 200);
    assert_eq!(only(&fake).number, 2);
    slow.write(end);
    assert_eq!(slow.read().unwrap().status, 200);
    let order: Vec<(u64, String)> = fake.calls().into_iter().map(|call| (call.number, call.to.concat())).collect();
    assert_eq!(order, [(1, "slow@example.net".into()), (2, "bob@example.net".into())]);
}

#[test]
fn many_connections_at_once_lose_nothing() {
    let fake = FakeSes::start(Profile::Today);
    fake.keep_bodies(false);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut client = Client::of(&fake);
                for _ in 0..50 {
                    assert_eq!(client.send(&asked(MAIL.as_bytes())).unwrap().status, 200);
                }
            });
        }
    });
    let counts = fake.counts();
    assert_eq!((counts.received, counts.accepted, counts.recipients), (800, 800, 800));
    let calls = fake.calls();
    let mut ids: Vec<&str> = calls.iter().filter_map(Call::message_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 800);
    assert!(calls.iter().all(|call| call.raw.is_empty() && call.to.len() == 1));
}

#[test]
fn rules_hold_for_bodies_that_are_not_kept() {
    let fake = FakeSes::start(Profile::Today);
    fake.keep_bodies(false);
    assert_eq!(Client::of(&fake).send(&asked(b"no header")).unwrap().status, 400);
}

fn call(raw: &'static [u8]) -> Call {
    Call { raw: raw.into(), ..Call::default() }
}

#[test]
fn the_reader_unfolds_and_finds_without_case() {
    let call =
        call(b"Received: one\r\n two\r\n\tthree\r\nSUBJECT:x: y \r\nreceived:\r\n four\r\n\r\nReceived: body\r\n");
    assert_eq!(call.header("Received"), ["one two\tthree", "four"]);
    assert_eq!(call.header("subject"), ["x: y"]);
    assert!(call.header("To").is_empty());
    assert_eq!(call.header_names(), ["Received", "SUBJECT", "received"]);
    assert_eq!(call.body(), b"Received: body\r\n");
}

#[test]
fn the_reader_takes_any_octets() {
    let broken = call(b"no colon\n: empty\nX-\xff: \xfe\n\nbody\n");
    assert_eq!(broken.header_names(), ["", "X-\u{fffd}"]);
    assert_eq!(broken.header(""), ["empty"]);
    assert_eq!(broken.body(), b"body\n");
    assert_eq!(call(b"\r\nall body").body(), b"all body");
    assert_eq!(call(b"A: b\r\n\r\n").body(), b"");
    assert_eq!(call(b"A: b").header("A"), ["b"]);
    assert!(call(b"").header_names().is_empty() && call(b"").body().is_empty());
    assert_eq!(call(b" x\r\n y\r\nA: b\r\n").header("A"), ["b"]);
    let blank_lines = call(b"Subject:\r\n \r\n\t\r\n text\r\nTo: x\r\n\r\nbody");
    assert_eq!((blank_lines.header("Subject"), blank_lines.header("To")), (vec!["text".into()], vec!["x".into()]));
}
