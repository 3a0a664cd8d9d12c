//! The SMTP clients that people try a server with, each submitting one message to 127.0.0.1.
//!
//! The message has CRLF line ends and goes out as it is, but for the dots that SMTP doubles. An exit status other than 0
//! means that the server refused something; what it said is in the output.

use std::process::{Command, Output};

use super::fed;

/// Seconds until a client gives up on a server that does not answer.
pub(super) const PATIENCE: &str = "60";

/// The name that clients greet with; finding out their own could ask the DNS.
pub(super) const CLIENT_NAME: &str = "client.example.com";

/// A way to submit: port, sender, recipients, message.
pub type Client = fn(u16, &str, &[&str], &[u8]) -> Output;

/// All of them, by name.
pub const CLIENTS: [(&str, Client); 4] = [
    ("swaks", send_with_swaks),
    ("swaks --pipeline", send_with_pipelining_swaks),
    ("curl", send_with_curl),
    ("smtplib", send_with_smtplib),
];

/// Submits with Swaks, which prints the whole dialogue. An empty sender is the null sender, here and below.
pub fn send_with_swaks(port: u16, from: &str, to: &[&str], message: &[u8]) -> Output {
    fed(&mut swaks(port, from, to), &dot_stuffed(message))
}

/// The same, with MAIL, RCPT and DATA in one write where the server offers PIPELINING.
pub fn send_with_pipelining_swaks(port: u16, from: &str, to: &[&str], message: &[u8]) -> Output {
    let mut swaks = swaks(port, from, to);
    swaks.arg("--pipeline");
    fed(&mut swaks, &dot_stuffed(message))
}

pub(super) fn swaks(port: u16, from: &str, to: &[&str]) -> Command {
    let mut swaks = Command::new("swaks");
    swaks.args(["--server", "127.0.0.1", "--port", &port.to_string(), "--timeout", PATIENCE, "--helo", CLIENT_NAME]);
    swaks.args(["--from", if from.is_empty() { "<>" } else { from }, "--to", &to.join(",")]);
    // Without its fix-up it fills in no tokens of its own; the end of data is then ours to write.
    swaks.args(["--no-data-fixup", "--data", "-"]);
    swaks
}

/// Submits with curl.
pub fn send_with_curl(port: u16, from: &str, to: &[&str], message: &[u8]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", PATIENCE, "--upload-file", "-"]);
    curl.args(["--mail-from", from]);
    curl.args(to.iter().flat_map(|to| ["--mail-rcpt", to]));
    curl.arg(format!("smtp://127.0.0.1:{port}/{CLIENT_NAME}"));
    fed(&mut curl, message)
}

/// Submits with Python's smtplib; what fails is an exception on standard error.
pub fn send_with_smtplib(port: u16, from: &str, to: &[&str], message: &[u8]) -> Output {
    const SCRIPT: &str = "\
import smtplib, sys
name, patience, port, sender, *recipients = sys.argv[1:]
with smtplib.SMTP('127.0.0.1', int(port), name, timeout=int(patience)) as server:
    refused = server.sendmail(sender, recipients, sys.stdin.buffer.read())
sys.exit(f'refused: {refused}' if refused else 0)
";
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, CLIENT_NAME, PATIENCE, &port.to_string(), from]).args(to);
    fed(&mut python, message)
}

/// A message as it follows DATA (RFC 5321 section 4.5.2), with the end of data but its last CRLF, which Swaks adds.
pub(super) fn dot_stuffed(message: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(message.len() + 64);
    for line in message.split_inclusive(|&octet| octet == b'\n') {
        if line.starts_with(b".") {
            data.push(b'.');
        }
        data.extend_from_slice(line);
    }
    if !data.ends_with(b"\n") {
        data.extend_from_slice(b"\r\n");
    }
    data.push(b'.');
    data
}

#[cfg(test)]
mod tests {
    use super::super::sink::Sink;
    use super::*;

    const MAIL: &[u8] = b"From: a@example.com\r\nSubject: %FROM_ADDRESS% \\n\r\n\r\n.\r\n..two\r\nend\r\n";

    #[test]
    fn each_client_submits_the_message_as_it_is() {
        for (name, send) in CLIENTS {
            for from in ["a@example.com", ""] {
                let sink = Sink::start();
                let output = send(sink.port(), from, &["b@example.net", "c@example.net"], MAIL);
                assert!(output.status.success(), "{name}: {output:?}");
                let mails = sink.mails();
                let [mail] = mails.as_slice() else { panic!("{name} sent {mails:?}") };
                assert!(mail.contains(&format!("\nX-Mail-Args: <{from}>")), "{name}: {mail}");
                assert!(
                    mail.contains("\nX-Rcpt-Args: <b@example.net>\nX-Rcpt-Args: <c@example.net>\n"),
                    "{name}: {mail}"
                );
                let message = String::from_utf8_lossy(MAIL).replace("\r\n", "\n");
                assert!(mail.trim_end().ends_with(message.trim_end()), "{name}: {mail}");
            }
        }
    }

    #[test]
    fn a_client_whose_mail_nobody_takes_fails() {
        let port = super::super::free_port();
        for (_, send) in CLIENTS {
            assert!(!send(port, "a@example.com", &["b@example.net"], MAIL).status.success());
        }
    }
}
