//! TLS on the listeners, with the clients and servers that people use: what goes within, what is refused, and certificates
//! that change while sessions go on.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway, HEADGATE, ses},
    parties::{
        PATIENCE,
        authority::Authority,
        free_port,
        postfix::Postfix,
        secured::{SECURED_CLIENTS, Secured},
        wait_until,
    },
    smtp::{Smtp, behind_received},
};

/// With the fields that msmtp adds when they are not there.
const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\nSubject: hello\r\n\
    Date: Tue, 1 Dec 2026 10:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n\r\n.\r\nhi\r\n";
const TALK: &str = "EHLO client.example.org\r\nQUIT\r\n";

/// A gateway with TLS by that word and further settings, and the folder of its certificate, which is the authority's.
fn gateway(fake: &FakeSes, authority: &Authority, tls: &str, more: &str) -> (Gateway, TempDir) {
    let place = tempfile::tempdir().unwrap();
    install(authority, place.path());
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| place.path().join(name).display().to_string());
    let table = format!("[tls]\ncertificate = \"{certificate}\"\nprivate_key = \"{key}\"\n{more}\n");
    let set = [format!("listener.smtp.tls={tls}")];
    (Gateway::start_with(&format!("{BASE}{table}{}", ses(&fake.endpoint())), &set), place)
}

fn install(authority: &Authority, folder: &Path) {
    fs::copy(authority.certificate(), folder.join("cert.pem")).unwrap();
    fs::copy(authority.key(), folder.join("key.pem")).unwrap();
}

/// A session within TLS, begun by STARTTLS.
fn secured(gateway: &Gateway, authority: &Authority) -> std::io::Result<Smtp> {
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("STARTTLS").code, 220);
    let mut client = client.within_tls(&authority.ca_file())?;
    assert_eq!(client.command("EHLO client.example.org").code, 250);
    Ok(client)
}

fn heard(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_clients_send_within_tls_is_what_ses_gets() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    for tls in ["starttls", "implicit"] {
        let (gateway, _place) = gateway(&fake, &authority, tls, "");
        let ca_file = authority.ca_file();
        let server = Secured { port: gateway.port(), ca_file: &ca_file, implicit: tls == "implicit", login: None };
        for (name, send) in SECURED_CLIENTS {
            let output = send(&server, MAIL);
            assert!(output.status.success(), "{name}, {tls}: {output:?}");
            let call = fake.accepted().pop().unwrap();
            assert_eq!(behind_received(&call.raw), MAIL, "{name}, {tls}");
            // Without a login nullmailer says HELO, for which there is no word that tells of TLS (RFC 3848).
            let protocol = if name == "nullmailer" { "SMTP id" } else { "ESMTPS id" };
            assert!(call.header("Received")[0].contains(&format!("with {protocol}")), "{:?}", call.header("Received"));
        }
        let records = gateway.records("message", SECURED_CLIENTS.len());
        assert_eq!(records.len(), SECURED_CLIENTS.len());
        assert!(records.iter().all(|record| record["tls"] == "TLSv1.3"), "{records:?}");
    }
    assert_eq!(fake.counts().accepted, 2 * SECURED_CLIENTS.len() as u64);
}

#[test]
fn a_large_message_goes_through_whole() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    let (gateway, _place) = gateway(&fake, &authority, "starttls", "");
    let mail = [MAIL, &b"0123456789012345678901234567890123456789\r\n".repeat(50_000)].concat();
    let reply = secured(&gateway, &authority).unwrap().submit("a@example.com", &["b@example.net"], &mail);
    assert_eq!(reply.code, 250, "{reply:?}");
    assert!(behind_received(&fake.accepted()[0].raw) == mail);
}

#[test]
fn postfix_that_insists_on_tls_delivers() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    for (tls, wrapper) in [("starttls", "no"), ("implicit", "yes")] {
        let (gateway, _place) = gateway(&fake, &authority, tls, "");
        let ca_file = authority.ca_file().display().to_string();
        let settings = [
            ("smtp_tls_security_level", "encrypt"),
            ("smtp_tls_wrappermode", wrapper),
            ("smtp_tls_CAfile", ca_file.as_str()),
            ("smtp_tls_loglevel", "1"),
        ];
        let postfix = Postfix::start_with(gateway.port(), &settings);
        let mail = String::from_utf8_lossy(MAIL).replace("\r\n", "\n");
        let output = postfix.inject(&["-i", "-f", "a@example.com", "b@example.net"], mail.as_bytes());
        assert!(output.status.success(), "{output:?}");
        assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
        let log = postfix.log();
        assert!(log.contains("status=sent") && log.contains("Trusted TLS connection established"), "{log}");
        assert_eq!(gateway.records("message", 1)[0]["tls"], "TLSv1.3");
    }
    assert_eq!(fake.counts().accepted, 2);
}

#[test]
fn the_end_of_a_session_is_told_within_tls() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    for (tls, arguments) in [("starttls", "-starttls smtp"), ("implicit", "")] {
        let (gateway, _place) = gateway(&fake, &authority, tls, "");
        for version in ["-tls1_2", "-tls1_3"] {
            let output = authority.client(gateway.port(), &format!("{arguments} {version}"), TALK);
            assert!(heard(&output).contains("221 2.0.0 Bye"), "{tls} {version}: {output:?}");
            // So openssl, and Exim with others, complain when a connection ends without close_notify.
            assert!(!said(&output).contains("unexpected eof"), "{tls} {version}: {output:?}");
        }
    }
}

#[test]
fn clear_text_that_comes_instead_of_a_handshake_ends_the_connection() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    let (mut gateway, _place) = gateway(&fake, &authority, "starttls", "");
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("STARTTLS").code, 220);
    client.send(b"EHLO client.example.org\r\nMAIL FROM:<a@example.com>\r\n");
    assert!(!String::from_utf8_lossy(&client.rest()).contains("250"));
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("the TLS handshake failed")), "{}", gateway.stderr());
    assert!(secured(&gateway, &authority).is_ok(), "others are served");
    assert_eq!(gateway.stop().code(), Some(0));
    assert_eq!(gateway.log(), "");
    assert!(!gateway.stderr().contains("panicked"), "{}", gateway.stderr());
}

#[test]
fn a_client_that_says_nothing_before_its_handshake_does_not_keep_the_gateway_from_ending() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    let (mut gateway, _place) = gateway(&fake, &authority, "implicit", "[delivery]\ndrain = \"1h\"");
    let mut silent = Smtp::silent(gateway.port());
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_open_sessions") == 1));
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(silent.closed());
}

#[test]
fn a_changed_certificate_is_shown_to_new_sessions_while_old_ones_go_on() {
    let fake = FakeSes::start(Profile::Today);
    let (first, second) = (Authority::new("IP:127.0.0.1"), Authority::new("IP:127.0.0.1"));
    let (mut gateway, place) = gateway(&fake, &first, "starttls", "");
    let mut old = secured(&gateway, &first).unwrap();
    assert!(secured(&gateway, &second).is_err());

    install(&second, place.path());
    assert!(wait_until(PATIENCE, || secured(&gateway, &second).is_ok()), "{}", gateway.stderr());
    assert!(secured(&gateway, &first).is_err());
    assert_eq!(old.submit("a@example.com", &["b@example.net"], MAIL).code, 250);

    fs::write(place.path().join("key.pem"), "no key").unwrap();
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("the old certificate stays")), "{}", gateway.stderr());
    assert!(secured(&gateway, &second).is_ok());

    install(&second, place.path());
    let loaded = |gateway: &Gateway| gateway.stderr().matches("the certificate is loaded anew").count();
    let healed = wait_until(PATIENCE, || {
        let said = gateway.stderr();
        said.rfind("the certificate is loaded anew") > said.rfind("the old certificate stays")
    });
    assert!(healed, "{}", gateway.stderr());
    let before = loaded(&gateway);
    gateway.signal("HUP");
    assert!(wait_until(PATIENCE, || loaded(&gateway) > before), "{}", gateway.stderr());
    assert_eq!(old.submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    assert_eq!(fake.counts().accepted, 2);
}

#[test]
fn a_client_that_knows_older_versions_only_is_refused() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    let (gateway, _place) = gateway(&fake, &authority, "starttls", "min_version = \"1.3\"");
    let old = authority.client(gateway.port(), "-starttls smtp -tls1_2", TALK);
    assert!(!old.status.success() && said(&old).contains("protocol version"), "{old:?}");
    let new = authority.client(gateway.port(), "-starttls smtp -tls1_3", TALK);
    assert!(heard(&new).contains("221 2.0.0 Bye"), "{new:?}");
}

#[test]
fn with_client_ca_only_a_client_with_a_certificate_of_it_gets_in() {
    let fake = FakeSes::start(Profile::Today);
    let (authority, stranger) = (Authority::new("IP:127.0.0.1"), Authority::new("IP:127.0.0.1"));
    let client_ca = format!("client_ca = \"{}\"", authority.ca_file().display());
    let (gateway, _place) = gateway(&fake, &authority, "implicit", &client_ca);
    let showing = |of: &Authority| format!("-cert {} -key {}", of.certificate().display(), of.key().display());
    // The other authority has the same name; only its signature tells.
    for (arguments, alert) in [(String::new(), "certificate required"), (showing(&stranger), "decrypt error")] {
        let output = authority.client(gateway.port(), &arguments, TALK);
        assert!(heard(&output).is_empty() && said(&output).contains(alert), "{output:?}");
    }
    let output = authority.client(gateway.port(), &showing(&authority), TALK);
    assert!(heard(&output).contains("221 2.0.0 Bye"), "{output:?}");
}

#[test]
fn a_key_that_only_the_gateway_may_read_is_no_fault_to_others_and_stops_a_gateway_that_may_not() {
    const NOBODY: u32 = 65534;
    let authority = Authority::new("IP:127.0.0.1");
    let place = tempfile::tempdir().unwrap();
    let (folder, program) = (place.path(), place.path().join("headgate"));
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(HEADGATE, &program).or_else(|_| fs::copy(HEADGATE, &program).map(drop)).unwrap();
    install(&authority, folder);
    fs::set_permissions(folder.join("key.pem"), Permissions::from_mode(0o600)).unwrap();
    let settings = "[[listener]]\naddress = \"127.0.0.1:{port}\"\ntls = \"starttls\"
[tls]\ncertificate = \"cert.pem\"\nprivate_key = \"key.pem\"
[[upstream]]\nkind = \"outbox\"\npath = \"outbox\"\n";
    fs::write(folder.join("headgate.toml"), settings.replace("{port}", &free_port().to_string())).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).args(["--config", "headgate.toml"]).env_clear().current_dir(folder).uid(NOBODY);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let checked = run(&["config", "check"]);
    assert!(checked.status.success(), "{checked:?}");
    let served = run(&["serve"]);
    assert!(!served.status.success() && said(&served).contains("tls.private_key: cannot read"), "{served:?}");
}
