//! Moto, an emulator of AWS that others wrote: it takes what the AWS SDK sends, and tells what mail it got.
//!
//! It is more lenient than SES and differs in one thing that tests have to know: recipients are those of the call and
//! also those in To, Cc and Bcc. It has an answer to GetAccount only in the old API.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Guard, PATIENCE, free_port, http, wait_until};

/// Identities are kept by region; those made here are in this one.
pub const REGION: &str = "us-east-1";

/// The domain whose addresses may send as soon as the emulator runs.
pub const DOMAIN: &str = "example.com";

/// Moto routes a request by the service in the scope of its signature, and does not verify the signature.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ses/aws4_request, \
                             SignedHeaders=host, Signature=0";

/// A running emulator; its process ends when it is dropped.
pub struct Moto {
    server: Guard,
    port: u16,
}

/// A message that the emulator took as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MotoMessage {
    /// FromEmailAddress or, where the call has none, the From of the message.
    pub source: String,
    /// The recipients of the call, then those of the header.
    pub destinations: Vec<String>,
    /// The message as it arrived, which the emulator takes only when it is UTF-8.
    pub raw: String,
}

impl Moto {
    /// Starts one; returns when it answers and knows [`DOMAIN`].
    ///
    /// # Panics
    /// When it is not installed, or does not come up.
    pub fn start() -> Moto {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/venv/bin/moto_server");
        let port = free_port();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut server = Guard::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        let mut ended = None;
        wait_until(PATIENCE, || {
            ended = server.ended();
            ended.is_some() || http(port, "GET /moto-api/data.json", &[], b"").is_ok()
        });
        assert!(ended.is_none(), "moto ended at its start: {ended:?}");
        let moto = Moto { server, port };
        moto.verify(DOMAIN);
        moto
    }

    /// What a client of SES takes for `endpoint_url`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes a domain or an address an identity that may send.
    pub fn verify(&self, identity: &str) {
        let body = serde_json::json!({ "EmailIdentity": identity }).to_string();
        self.call("POST /v2/email/identities", body.as_bytes());
    }

    /// What it took since it started or was reset, oldest first.
    pub fn sent(&self) -> Vec<MotoMessage> {
        let answer = self.call("GET /moto-api/data.json", b"");
        let data: serde_json::Value = serde_json::from_slice(&answer).expect("moto tells its data as JSON");
        let messages = data.pointer("/ses/RawMessage").and_then(|messages| messages.as_array());
        messages.into_iter().flatten().map(message).collect()
    }

    /// Makes it as if just started: no mail, and no identity but [`DOMAIN`].
    pub fn reset(&self) {
        self.call("POST /moto-api/reset", b"");
        self.verify(DOMAIN);
    }

    /// A request that has to succeed; returns the body of the answer.
    fn call(&self, request_line: &str, body: &[u8]) -> Vec<u8> {
        let fields = [("Content-Type", "application/json"), ("Authorization", AUTHORIZATION)];
        match http(self.port, request_line, &fields, body) {
            Ok((200, answer)) => answer,
            Ok((status, answer)) => panic!("moto to {request_line}: {status} {}", String::from_utf8_lossy(&answer)),
            Err(error) => panic!("moto to {request_line}: {error}"),
        }
    }
}

/// One of the emulator's records.
fn message(record: &serde_json::Value) -> MotoMessage {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let destinations = record["destinations"].as_array();
    MotoMessage {
        source: text(&record["source"]),
        destinations: destinations.into_iter().flatten().map(text).collect(),
        raw: text(&record["raw_data"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moto_shows_the_mail_it_took_until_it_is_reset() {
        let moto = Moto::start();
        assert_eq!(moto.sent(), []);
        // "From: a@example.com\r\nSubject: hello\r\n\r\nhello\r\n"
        let raw = "RnJvbTogYUBleGFtcGxlLmNvbQ0KU3ViamVjdDogaGVsbG8NCg0KaGVsbG8NCg==";
        let call = serde_json::json!({
            "Destination": { "ToAddresses": ["b@example.net", "c@example.net"] },
            "Content": { "Raw": { "Data": raw } },
        });
        moto.call("POST /v2/email/outbound-emails", call.to_string().as_bytes());

        let sent = moto.sent();
        let [message] = sent.as_slice() else { panic!("moto got {sent:?}") };
        assert_eq!(message.source, "a@example.com");
        assert_eq!(message.destinations, ["b@example.net", "c@example.net"]);
        assert_eq!(message.raw, "From: a@example.com\r\nSubject: hello\r\n\r\nhello\r\n");

        moto.reset();
        assert_eq!(moto.sent(), []);
    }
}
