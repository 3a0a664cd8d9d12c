//! Submission as it is meant to be (RFC 6409, RFC 8314): within TLS and behind a login, by the clients and the mail servers
//! that people have. What each hands over arrives octet for octet, and the log names who logged in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    fake_ses::{FakeSes, Profile},
    fixtures::Run,
    gateway::{BASE, Gateway, ses},
    parties::{
        MailServer, PATIENCE,
        authority::Authority,
        exim::Exim,
        opensmtpd::OpenSmtpd,
        postfix::Postfix,
        secured::{Login, SECURED_CLIENTS, Secured},
        sendmail::Sendmail,
    },
    smtp::{Smtp, behind_received},
};

/// With dots, 8-bit text, a blank at the end of a line and two at the end of the text: what careless clients spoil. It has
/// the fields that mail servers add when they are not there.
const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\nSubject: hello\r\n\
    Date: Tue, 1 Dec 2026 10:00:00 +0000\r\nMessage-ID: <1@example.com>\r\nMIME-Version: 1.0\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\
    .\r\n..two\r\nF\xc3\xbc\xc3\x9fe \r\n\r\nend\r\n";
const PASSWORD: &str = "s3cret Pass=1";

/// A gateway that takes mail from alice within TLS alone, and what its clients need to know.
struct House {
    fake: FakeSes,
    gateway: Gateway,
    ca_file: PathBuf,
    implicit: bool,
    _places: (Authority, TempDir),
}

impl House {
    fn new(tls: &str) -> Self {
        let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
        let place = tempfile::tempdir().unwrap();
        add_alice(&place.path().join("users"));
        let settings = format!(
            "{}[users]\nfile = \"{}\"\n[tls]\ncertificate = \"{}\"\nprivate_key = \"{}\"\n{}",
            BASE.replace("[access_log]", &format!("tls = \"{tls}\"\nauth = \"required\"\n[access_log]")),
            place.path().join("users").display(),
            authority.certificate().display(),
            authority.key().display(),
            ses(&fake.endpoint())
        );
        let ca_file = authority.ca_file();
        let gateway = Gateway::start(&settings);
        Self { fake, gateway, ca_file, implicit: tls == "implicit", _places: (authority, place) }
    }

    fn server(&self) -> Secured<'_> {
        let login = Some(Login { name: "alice", password: PASSWORD });
        Secured { port: self.gateway.port(), ca_file: &self.ca_file, implicit: self.implicit, login }
    }

    /// The mail that came last is the one that was sent, but for what mail servers on its way put on top, and came from
    /// alice.
    fn took(&self, count: usize, who: &str) {
        let accepted = self.fake.accepted();
        assert_eq!(accepted.len(), count, "{who}");
        let mut raw = behind_received(&accepted[count - 1].raw);
        while raw.starts_with(b"Received:") {
            raw = behind_received(raw);
        }
        assert!(raw == MAIL, "{who}: {}", raw.escape_ascii());
        let records = self.gateway.records("message", count);
        let record = records.last().unwrap();
        assert_eq!((&record["login"], &record["user"]), (&"alice".into(), &"alice".into()), "{who}: {record}");
        assert_eq!(record["tls"], "TLSv1.3", "{who}");
    }

    /// The same of a mail that goes through a mail server.
    fn takes(&self, who: &str, port: u16, log: impl Fn() -> String) {
        let mut client = Smtp::ready(port);
        let reply = client.submit("a@example.com", &["b@example.net"], MAIL);
        assert_eq!(reply.code, 250, "{who}: {reply:?}");
        assert!(self.fake.wait_for_accepted(1, PATIENCE), "{who}: {}\n{}", log(), self.gateway.stderr());
        self.took(1, who);
    }
}

fn add_alice(users: &Path) {
    let arguments = ["users", "add", "--file", users.to_str().unwrap(), "alice"];
    let ran = Run { stdin: PASSWORD.as_bytes(), ..Run::new(&arguments) }.within(&std::env::temp_dir());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn clients_submit_behind_a_login_within_tls() {
    for tls in ["starttls", "implicit"] {
        let house = House::new(tls);
        for (count, (name, send)) in (1..).zip(SECURED_CLIENTS) {
            let output = send(&house.server(), MAIL);
            assert!(output.status.success(), "{name}, {tls}: {output:?}\n{}", house.gateway.stderr());
            house.took(count, &format!("{name}, {tls}"));
        }
    }
}

#[test]
fn a_client_with_a_wrong_password_or_another_authority_delivers_nothing() {
    let house = House::new("starttls");
    let stranger = Authority::new("IP:127.0.0.1");
    let ca_file = stranger.ca_file();
    for (name, send) in SECURED_CLIENTS {
        let output = send(&Secured { ca_file: &ca_file, ..house.server() }, MAIL);
        assert!(!output.status.success(), "{name} trusts anybody: {output:?}");
    }
    let (name, send) = SECURED_CLIENTS[0];
    let output = send(&Secured { login: Some(Login { name: "alice", password: "wrong" }), ..house.server() }, MAIL);
    assert!(!output.status.success(), "{name}: {output:?}");
    assert_eq!(house.fake.counts().received, 0);
}

#[test]
fn postfix_submits_behind_a_login_within_tls() {
    for (tls, wrapper) in [("starttls", "no"), ("implicit", "yes")] {
        let house = House::new(tls);
        let folder = tempfile::tempdir().unwrap();
        let passwords = folder.path().join("passwords");
        fs::write(&passwords, format!("[127.0.0.1]:{} alice:{PASSWORD}\n", house.gateway.port())).unwrap();
        let (ca_file, passwords) = (house.ca_file.display().to_string(), format!("texthash:{}", passwords.display()));
        let settings = [
            ("smtp_tls_security_level", "secure"),
            ("smtp_tls_secure_cert_match", "127.0.0.1"),
            ("smtp_tls_wrappermode", wrapper),
            ("smtp_tls_CAfile", ca_file.as_str()),
            ("smtp_sasl_auth_enable", "yes"),
            ("smtp_sasl_password_maps", passwords.as_str()),
            ("smtp_sasl_tls_security_options", "noanonymous"),
        ];
        let postfix = Postfix::start_with(house.gateway.port(), &settings);
        house.takes(&format!("Postfix, {tls}"), postfix.port(), || postfix.log());
    }
}

#[test]
fn sendmail_server_submits_behind_a_login_within_tls() {
    let house = House::new("starttls");
    let sendmail = Sendmail::to_smarthost_within_tls(&house.server());
    house.takes("Sendmail", sendmail.port(), || sendmail.log());
    assert!(sendmail.log().contains("verify=OK"), "{}", sendmail.log());
}

#[test]
fn exim_server_submits_behind_a_login_within_tls() {
    for tls in ["starttls", "implicit"] {
        let house = House::new(tls);
        let exim = Exim::to_smarthost_within_tls(&house.server());
        house.takes(&format!("Exim, {tls}"), exim.port(), || exim.log());
    }
}

#[test]
fn opensmtpd_submits_behind_a_login_within_tls() {
    for tls in ["starttls", "implicit"] {
        let house = House::new(tls);
        let opensmtpd = OpenSmtpd::to_smarthost_within_tls(&house.server());
        house.takes(&format!("OpenSMTPD, {tls}"), opensmtpd.port(), || opensmtpd.log());
        assert!(opensmtpd.log().contains("server-cert-check result=\"success\""), "{}", opensmtpd.log());
    }
}
