//! HTTP: routes, authorization, unreadable requests, keep-alive.

use serde_json::json;

use super::super::{Account, FakeSes, Profile};
use super::client::{AUTHORIZATION, Client, MAIL, PATIENCE, SEND, asked, asked_with, only};

#[test]
fn a_good_call_gets_a_message_id() {
    let fake = FakeSes::start(Profile::Today);
    let reply = Client::of(&fake).send(&asked(MAIL.as_bytes())).unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("x-amzn-requestid").len(), 36);
    assert_eq!(reply.header("x-amzn-errortype"), "");
    let id = reply.message_id();
    assert!(id.starts_with("0100") && id.ends_with("-000000"), "{id}");
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [16, 8, 4, 4, 4, 12, 6]);
    assert_eq!(only(&fake).message_id(), Some(id));
}

#[test]
fn one_connection_serves_many_requests_with_ids_of_their_own() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let mut ids: Vec<String> = (0..50)
        .map(|_| client.send(&asked(MAIL.as_bytes())).unwrap())
        .flat_map(|reply| [reply.message_id(), reply.header("x-amzn-requestid")].map(String::from))
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
}

#[test]
fn a_path_may_stand_in_front() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let body = asked(MAIL.as_bytes()).to_string();
    let line = format!("POST /some/prefix{SEND}");
    client.request(&line, &[("authorization", AUTHORIZATION)], body.as_bytes());
    assert_eq!(client.read().unwrap().status, 200);
    assert_eq!(only(&fake).path, format!("/some/prefix{SEND}"));
}

#[test]
fn unknown_operations_are_not_found() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    for line in ["GET /", "GET /v2/email/outbound-emails", "POST /v2/email/account", "PUT /v2/x"] {
        client.request(line, &[("Authorization", AUTHORIZATION)], b"");
        let reply = client.read().unwrap();
        assert_eq!(reply.status, 404, "{line}");
        assert_eq!(reply.header("x-amzn-errortype"), "UnknownOperationException");
        assert!(reply.body["message"].is_string());
    }
    assert!(fake.calls().is_empty());
}

#[test]
fn without_a_signature_for_ses_nothing_is_done() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let unsigned = AUTHORIZATION.replace(", Signature=00ff", "");
    let others = [
        AUTHORIZATION.replace("/ses/", "/s3/"),
        AUTHORIZATION.replace("AWS4-HMAC-SHA256 ", "Basic "),
        AUTHORIZATION.replace("Credential=", "Credentials="),
        unsigned,
        "AWS4-HMAC-SHA256 ".into(),
        "AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=".into(),
        String::new(),
    ];
    let expected = (403, "MissingAuthenticationTokenException", "Missing Authentication Token");
    let body = asked(MAIL.as_bytes()).to_string();
    for other in &others {
        client.request(&format!("POST {SEND}"), &[("Authorization", other)], body.as_bytes());
        assert_eq!(client.read().unwrap().error(), expected, "{other}");
        client.request("GET /v2/email/account", &[("Authorization", other)], b"");
        assert_eq!(client.read().unwrap().error(), expected, "{other}");
    }
    client.request(&format!("POST {SEND}"), &[], body.as_bytes());
    assert_eq!(client.read().unwrap().error(), expected);
    assert!(fake.accepted().is_empty());
    assert_eq!(fake.counts().refused, others.len() as u64 + 1);
    assert_eq!(fake.calls()[0].to, ["bob@example.net"]);
}

#[test]
fn what_cannot_be_read_is_refused_and_recorded() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let bodies = [
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "\u{0}".to_owned(),
        asked_with("Destination", json!({ "ToAddresses": "a@b" })).to_string(),
        asked_with("Destination", json!({ "ToAddresses": [null] })).to_string(),
        asked_with("FromEmailAddress", json!(7)).to_string(),
        asked_with("EmailTags", json!([{ "Name": 1 }])).to_string(),
        asked_with("Content", json!({ "Raw": { "Data": "not base64" } })).to_string(),
        asked_with("Content", json!({ "Raw": { "Data": 1 } })).to_string(),
    ];
    for body in &bodies {
        client.request(&format!("POST {SEND}"), &[("Authorization", AUTHORIZATION)], body.as_bytes());
        let reply = client.read().unwrap();
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.header("x-amzn-errortype"), "SerializationException");
    }
    assert_eq!(fake.counts().refused, bodies.len() as u64);
    let simple = asked_with("Content", json!({ "Simple": {} }));
    assert_eq!(client.send(&simple).unwrap().error().1, "BadRequestException");
    assert_eq!(client.send(&asked(MAIL.as_bytes())).unwrap().status, 200);
}

#[test]
fn garbage_in_place_of_http_hurts_nobody_else() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    client.write(b"EHLO there\r\n\r\n\xff\x00");
    assert_eq!(client.read().map(|reply| reply.status), Some(400));
    let reply = Client::of(&fake).send(&asked(MAIL.as_bytes())).unwrap();
    assert_eq!(reply.status, 200);
}

#[test]
fn a_body_beyond_all_sense_is_refused_unread() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let headers = [("Authorization", AUTHORIZATION), ("Content-Length", "200000000")];
    client.request(&format!("POST {SEND}"), &headers, b"");
    assert_eq!(client.read().unwrap().status, 413);
    assert_eq!((fake.counts().unread, fake.counts().received), (1, 0));
}

#[test]
fn a_client_that_leaves_in_the_middle_is_counted_only() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    let headers = [("Authorization", AUTHORIZATION), ("Content-Length", "1000")];
    client.request(&format!("POST {SEND}"), &headers, b"");
    client.write(b"{\"Destination\":");
    drop(client);
    assert!(fake.wait_until(PATIENCE, |counts| counts.unread == 1));
    assert!(fake.calls().is_empty());
}

#[test]
fn the_account_says_what_it_was_told_to() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    fake.set_account(Account { max_send_rate: 14.0, max_24_hour_send: -1.0, sent_last_24_hours: 3.0 });
    let mut look = |path: &str| {
        client.request(&format!("GET {path}"), &[("Authorization", AUTHORIZATION)], b"");
        client.read().unwrap()
    };
    let quota = json!({ "MaxSendRate": 14.0, "Max24HourSend": -1.0, "SentLast24Hours": 3.0 });
    let reply = look("/prefix/v2/email/account");
    assert_eq!((reply.status, &reply.body["SendQuota"]), (200, &quota));
    assert_eq!(reply.body["SendingEnabled"], json!(true));
    fake.deny_account(true);
    let reply = look("/v2/email/account");
    assert_eq!((reply.status, reply.error().1), (403, "AccessDeniedException"));
    fake.deny_account(false);
    assert_eq!(look("/v2/email/account").status, 200);
    assert_eq!((fake.counts().account, fake.counts().received), (3, 0));
}

#[test]
fn a_fake_that_is_gone_refuses_connections_and_may_come_back() {
    let fake = FakeSes::start(Profile::Today);
    let endpoint = fake.endpoint();
    let address = endpoint.strip_prefix("http://").unwrap();
    let mut client = Client::of(&fake);
    assert_eq!(client.send(&asked(MAIL.as_bytes())).unwrap().status, 200);
    drop(fake);
    assert!(client.send(&asked(MAIL.as_bytes())).is_none());
    assert!(std::net::TcpStream::connect(address).is_err());
    let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let back = FakeSes::start_on(Profile::Today, port);
    assert_eq!(back.endpoint(), endpoint);
    assert_eq!(Client::of(&back).send(&asked(MAIL.as_bytes())).unwrap().status, 200);
}
