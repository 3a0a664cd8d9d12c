//! The clients that submit within TLS, with or without a login: what a person or an application has at hand.
//!
//! Each checks the server's certificate by an authority that it is told, and gives nothing away in clear text. Those that
//! an installation would put in the place of Postfix run from an unpacked tree. The message goes from a@example.com to
//! b@example.net.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::apart::unpacked;
use super::clients::{CLIENT_NAME, PATIENCE, dot_stuffed, swaks};
use super::fed;

const SENDER: &str = "a@example.com";
const RECIPIENT: &str = "b@example.net";

/// Who logs in; a password may hold blanks.
pub struct Login<'a> {
    pub name: &'a str,
    pub password: &'a str,
}

/// A server that a client is to trust by an authority, and not to talk with but within TLS.
pub struct Secured<'a> {
    pub port: u16,
    pub ca_file: &'a Path,
    /// Whether the session begins with TLS; else it is begun by STARTTLS.
    pub implicit: bool,
    /// Who logs in, if anybody.
    pub login: Option<Login<'a>>,
}

/// A way to submit a message within TLS. An exit status other than 0 means that something was refused.
pub type SecuredClient = fn(&Secured<'_>, &[u8]) -> Output;

/// All of them, by name.
pub const SECURED_CLIENTS: [(&str, SecuredClient); 7] = [
    ("swaks", |server, message| send_with_swaks(server, "PLAIN", message)),
    ("swaks by LOGIN", |server, message| send_with_swaks(server, "LOGIN", message)),
    ("curl", send_with_curl),
    ("smtplib", send_with_smtplib),
    ("msmtp", send_with_msmtp),
    ("nullmailer", send_with_nullmailer),
    ("nodemailer", send_with_nodemailer),
];

fn send_with_swaks(server: &Secured<'_>, mechanism: &str, message: &[u8]) -> Output {
    let mut swaks = swaks(server.port, SENDER, &[RECIPIENT]);
    swaks.args([if server.implicit { "--tls-on-connect" } else { "--tls" }, "--tls-verify", "--tls-ca-path"]);
    swaks.arg(server.ca_file);
    if let Some(Login { name, password }) = &server.login {
        swaks.args(["--auth", mechanism, "--auth-user", name, "--auth-password", password]);
    }
    fed(&mut swaks, &dot_stuffed(message))
}

fn send_with_curl(server: &Secured<'_>, message: &[u8]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", PATIENCE, "--upload-file", "-", "--ssl-reqd", "--cacert"]);
    curl.arg(server.ca_file).args(["--mail-from", SENDER, "--mail-rcpt", RECIPIENT]);
    if let Some(Login { name, password }) = &server.login {
        curl.args(["--user", &format!("{name}:{password}")]);
    }
    let scheme = if server.implicit { "smtps" } else { "smtp" };
    fed(curl.arg(format!("{scheme}://127.0.0.1:{}/{CLIENT_NAME}", server.port)), message)
}

fn send_with_smtplib(server: &Secured<'_>, message: &[u8]) -> Output {
    const SCRIPT: &str = "\
import smtplib, ssl, sys
name, patience, port, authority, implicit, *login = sys.argv[1:]
trust = ssl.create_default_context(cafile=authority)
trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
if implicit == 'true':
    server = smtplib.SMTP_SSL('127.0.0.1', int(port), name, timeout=int(patience), context=trust)
else:
    server = smtplib.SMTP('127.0.0.1', int(port), name, timeout=int(patience))
    server.starttls(context=trust)
with server:
    if login:
        server.login(*login)
    server.sendmail('a@example.com', ['b@example.net'], sys.stdin.buffer.read())
";
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, CLIENT_NAME, PATIENCE, &server.port.to_string()]).arg(server.ca_file);
    python.arg(server.implicit.to_string());
    if let Some(Login { name, password }) = &server.login {
        python.args([name, password]);
    }
    fed(&mut python, message)
}

/// Its password comes out of a command, as a keyring's would.
fn send_with_msmtp(server: &Secured<'_>, message: &[u8]) -> Output {
    let mut msmtp = Command::new(unpacked("msmtp/usr/bin/msmtp"));
    msmtp.args(["--file=/dev/null", "--host=127.0.0.1", &format!("--port={}", server.port)]);
    msmtp.args([&format!("--timeout={PATIENCE}"), &format!("--domain={CLIENT_NAME}"), "--tls=on"]);
    msmtp.arg(format!("--tls-starttls={}", if server.implicit { "off" } else { "on" }));
    msmtp.arg(format!("--tls-trust-file={}", server.ca_file.display()));
    if let Some(Login { name, password }) = &server.login {
        msmtp.args(["--auth=plain", &format!("--user={name}"), "--passwordeval=printenv THE_PASSWORD"]);
        msmtp.env("THE_PASSWORD", password);
    }
    fed(msmtp.args([&format!("--from={SENDER}"), "--", RECIPIENT]), message)
}

/// Its program that speaks SMTP, which its queue runs: the envelope and the message, with the line ends of this system,
/// come on descriptor 3.
fn send_with_nullmailer(server: &Secured<'_>, message: &[u8]) -> Output {
    let folder = tempfile::tempdir().expect("/tmp is writable");
    let file = folder.path().join("message");
    let text = String::from_utf8_lossy(message).replace("\r\n", "\n");
    fs::write(&file, format!("{SENDER}\n{RECIPIENT}\n\n{text}")).expect("the new folder is writable");
    let mut nullmailer = Command::new("sh");
    nullmailer.args(["-c", "message=$1; shift; exec \"$@\" 3<\"$message\"", "sh"]).arg(&file);
    nullmailer.arg(unpacked("nullmailer/usr/lib/nullmailer/smtp")).env("HELOHOST", CLIENT_NAME);
    nullmailer.args(["--host=127.0.0.1", &format!("--port={}", server.port)]);
    nullmailer.arg(if server.implicit { "--tls" } else { "--starttls" });
    nullmailer.arg(format!("--x509cafile={}", server.ca_file.display()));
    if let Some(Login { name, password }) = &server.login {
        nullmailer.args([&format!("--user={name}"), &format!("--pass={password}")]);
    }
    fed(&mut nullmailer, b"")
}

fn send_with_nodemailer(server: &Secured<'_>, message: &[u8]) -> Output {
    const SCRIPT: &str = "
const fs = require('fs');
const [name, patience, port, authority, implicit, user, pass] = process.argv.slice(1);
const server = require('nodemailer').createTransport({
    host: '127.0.0.1', port: Number(port), name, secure: implicit === 'true', requireTLS: true,
    connectionTimeout: 1000 * patience, greetingTimeout: 1000 * patience, socketTimeout: 1000 * patience,
    tls: { ca: fs.readFileSync(authority) }, auth: user ? { user, pass } : undefined,
});
const envelope = { from: 'a@example.com', to: ['b@example.net'] };
server.sendMail({ envelope, raw: fs.readFileSync(0) }).then(() => server.close());
";
    let mut node = Command::new("node");
    node.env("NODE_PATH", unpacked("nodemailer/usr/share/nodejs")).args(["-e", SCRIPT, "--", CLIENT_NAME, PATIENCE]);
    node.arg(server.port.to_string()).arg(server.ca_file).arg(server.implicit.to_string());
    if let Some(Login { name, password }) = &server.login {
        node.args([name, password]);
    }
    fed(&mut node, message)
}
