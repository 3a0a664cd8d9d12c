//! Logins: users of a file that changes, the clients people use, and passwords that no log shows.

use std::{
    fs,
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::{
    fake_ses::{FakeSes, Profile},
    fixtures::Run,
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, fed, wait_until},
    smtp::Smtp,
};

const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\n\r\nhi\r\n";
const PASSWORD: &str = "s3cret Pass=1";

/// A gateway where everybody logs in, and the folder of its users file.
fn gateway(fake: &FakeSes) -> (Gateway, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    add(&users, "alice");
    let more =
        format!("auth = \"required\"\n[users]\nfile = \"{}\"\n[log]\nlevel = \"trace\"\n[access_log]", users.display());
    let settings = BASE.replace("[access_log]", &more);
    (Gateway::start(&format!("{settings}{}", ses(&fake.endpoint()))), folder)
}

fn add(users: &std::path::Path, name: &str) {
    let run =
        Run { stdin: PASSWORD.as_bytes(), ..Run::new(&["users", "add", "--file", users.to_str().unwrap(), name]) };
    let ran = run.within(&std::env::temp_dir());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn log_in(client: &mut Smtp, name: &str, password: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let message = STANDARD.encode(format!("\0{name}\0{password}"));
    let reply = client.command(&format!("AUTH PLAIN {message}"));
    format!("{} {}", reply.code, reply.text)
}

#[test]
fn the_users_file_is_read_anew_when_it_changes_and_a_broken_one_changes_nothing() {
    let fake = FakeSes::start(Profile::Today);
    let (gateway, folder) = gateway(&fake);
    let users = folder.path().join("users");
    let said = |name: &str| log_in(&mut Smtp::ready(gateway.port()), name, PASSWORD);
    assert!(said("alice").starts_with("235 "));
    assert!(said("bob").starts_with("535 "));
    add(&users, "bob");
    assert!(said("bob").starts_with("235 "));
    fs::write(&users, "carol\n").unwrap();
    assert!(said("bob").starts_with("235 "));
    assert!(gateway.stderr().contains("the users file is broken"), "{}", gateway.stderr());
    fs::write(&users, "").unwrap();
    assert!(said("alice").starts_with("535 "));
}

#[test]
fn no_log_shows_a_password() {
    let fake = FakeSes::start(Profile::Today);
    let (gateway, _folder) = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    assert!(log_in(&mut client, "alice", "wrong-Secret").starts_with("535 "));
    assert!(log_in(&mut client, "alice", PASSWORD).starts_with("235 "));
    assert_eq!(gateway.records("session", 1)[0]["status"], 535);
    let told = gateway.log() + &gateway.stderr();
    for secret in ["wrong-Secret", PASSWORD, "AGFsaWNlA", "$argon2"] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

/// Submits a message behind a login.
type Client = fn(u16) -> Output;

fn swaks(port: u16, mechanism: &str) -> Output {
    let mut swaks = Command::new("swaks");
    swaks.args(["--server", "127.0.0.1", "--port", &port.to_string(), "--helo", "client.example.com"]);
    swaks.args(["--auth", mechanism, "--auth-user", "alice", "--auth-password", PASSWORD]);
    swaks.args(["--from", "a@example.com", "--to", "b@example.net", "--data", "-"]);
    fed(&mut swaks, MAIL)
}

const CLIENTS: [(&str, Client); 4] = [
    ("swaks by PLAIN", |port| swaks(port, "PLAIN")),
    ("swaks by LOGIN", |port| swaks(port, "LOGIN")),
    ("curl", |port| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--upload-file", "-", "--user", &format!("alice:{PASSWORD}")]);
        curl.args(["--mail-from", "a@example.com", "--mail-rcpt", "b@example.net"]);
        fed(curl.arg(format!("smtp://127.0.0.1:{port}/client.example.com")), MAIL)
    }),
    ("smtplib", |port| {
        let script = "\
import smtplib, sys
port, password = sys.argv[1:]
with smtplib.SMTP('127.0.0.1', int(port), 'client.example.com') as server:
    server.login('alice', password)
    server.sendmail('a@example.com', ['b@example.net'], sys.stdin.buffer.read())
";
        fed(Command::new("python3").args(["-c", script, &port.to_string(), PASSWORD]), MAIL)
    }),
];

#[test]
fn clients_log_in_and_the_log_names_them() {
    let fake = FakeSes::start(Profile::Today);
    let (gateway, _folder) = gateway(&fake);
    for (count, (name, send)) in (1..).zip(CLIENTS) {
        let output = send(gateway.port());
        assert!(output.status.success(), "{name}: {output:?}");
        let records = gateway.records("message", count);
        let record = records.last().unwrap();
        assert_eq!((&record["login"], &record["user_source"]), (&"alice".into(), &"login".into()), "{name}");
    }
    assert_eq!(fake.accepted().len(), CLIENTS.len());
}

#[test]
fn who_guesses_passwords_is_blocked_and_nobody_else() {
    let fake = FakeSes::start(Profile::Today);
    let (gateway, _folder) = gateway(&fake);
    // The answers come late, so nobody waits for them.
    let wrong = "AUTH PLAIN AGFsaWNlAHdyb25n\r\n";
    let mut guessing: Vec<Smtp> = (0..10).map(|_| Smtp::ready(gateway.port())).collect();
    guessing.iter_mut().for_each(|client| client.send(wrong.as_bytes()));
    let blocked =
        wait_until(PATIENCE, || log_in(&mut Smtp::ready(gateway.port()), "alice", "wrong").starts_with("454 4.7.0"));
    assert!(blocked, "{}", gateway.stderr());
    let told = log_in(&mut Smtp::ready(gateway.port()), "alice", PASSWORD);
    assert!(told.starts_with("454 4.7.0"), "the right password is not looked at either: {told}");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--interface", "127.0.0.5", "--crlf", "--upload-file", "-"]);
    curl.args(["--mail-from", "a@example.com", "--mail-rcpt", "b@example.net", "--user", &format!("alice:{PASSWORD}")]);
    let output = fed(curl.arg(format!("smtp://127.0.0.1:{}", gateway.port())), MAIL);
    assert!(output.status.success(), "{output:?}");
}
