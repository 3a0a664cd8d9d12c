//! A small HTTP client, one connection long, and requests to begin from.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::{Call, FakeSes, Profile};

pub(super) const SEND: &str = "/v2/email/outbound-emails";
pub(super) const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
    Credential=AKIDEXAMPLE/20260101/us-east-1/ses/aws4_request, SignedHeaders=host;x-amz-date, Signature=00ff";
pub(super) const MAIL: &str =
    "From: Ann <ann@example.com>\r\nTo: bob@example.net\r\nSubject: hello\r\n\r\nHello,\r\n\r\nBob.\r\n";
/// Long enough for a busy machine; only a failing test waits so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// An answer of the fake.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        headers.find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// Status, error type, text.
    pub(super) fn error(&self) -> (u16, &str, &str) {
        let text = self.body["message"].as_str().unwrap_or_default();
        (self.status, self.header("x-amzn-errortype"), text)
    }

    pub(super) fn message_id(&self) -> &str {
        self.body["MessageId"].as_str().unwrap_or_default()
    }
}

/// One connection.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    pub(super) fn of(fake: &FakeSes) -> Self {
        let endpoint = fake.endpoint();
        let address = endpoint.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends octets as they are; a fake that has closed already is not an error here.
    pub(super) fn write(&mut self, octets: &[u8]) {
        let _ = self.0.get_mut().write_all(octets);
    }

    /// The next answer; None when the connection ends without one.
    pub(super) fn read(&mut self) -> Option<Reply> {
        match self.try_read() {
            Ok(reply) => reply,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("no answer in time"),
            Err(_) => None,
        }
    }

    fn try_read(&mut self) -> io::Result<Option<Reply>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut reply = Reply { status, headers, body: Value::Null };
        let length = reply.header("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        reply.body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Some(reply))
    }

    /// Writes a whole request.
    pub(super) fn request(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{line} HTTP/1.1\r\nHost: fake\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        self.write(body);
    }

    /// Posts JSON to SendEmail without waiting for the answer.
    pub(super) fn post(&mut self, asked: &Value) {
        let headers = [("Authorization", AUTHORIZATION)];
        let body = asked.to_string();
        self.request(&format!("POST {SEND}"), &headers, body.as_bytes());
    }

    /// Posts JSON to SendEmail; None when the connection ends without an answer.
    pub(super) fn send(&mut self, asked: &Value) -> Option<Reply> {
        self.post(asked);
        self.read()
    }
}

/// A good request for a message.
pub(super) fn asked(message: &[u8]) -> Value {
    json!({
        "Destination": { "ToAddresses": ["bob@example.net"] },
        "FeedbackForwardingEmailAddress": "ann@example.com",
        "Content": { "Raw": { "Data": STANDARD.encode(message) } },
    })
}

/// A good request with one more, or another, parameter.
pub(super) fn asked_with(name: &str, value: Value) -> Value {
    let mut asked = asked(MAIL.as_bytes());
    asked[name] = value;
    asked
}

/// What a fresh fake says to a request; an empty text when it accepts.
pub(super) fn verdict(profile: Profile, asked: &Value) -> String {
    let fake = FakeSes::start(profile);
    let reply = Client::of(&fake).send(asked).expect("an answer");
    if reply.status == 200 {
        assert_eq!(fake.accepted().len(), 1);
        return String::new();
    }
    let (status, kind, text) = reply.error();
    assert_eq!((status, kind), (400, "BadRequestException"), "{text}");
    assert_eq!(fake.calls()[0].status(), Some(400));
    text.to_owned()
}

/// What a fresh fake of today says to a message.
pub(super) fn verdict_on(message: &[u8]) -> String {
    verdict(Profile::Today, &asked(message))
}

/// The one call that there was.
pub(super) fn only(fake: &FakeSes) -> Call {
    let mut calls = fake.calls();
    assert_eq!(calls.len(), 1);
    calls.remove(0)
}
