//! The smtp upstream of a running gateway: through a real Postfix, and what the log and the settings show of it.

use crate::{
    fixtures::Run,
    gateway::{BASE, Gateway},
    parties::{
        PATIENCE,
        authority::Authority,
        next_hop::{NextHop, Script},
        postfix::Postfix,
        sink::Sink,
        wait_until,
    },
    smtp::Smtp,
};

fn smtp(port: u16, more: &str) -> String {
    format!("[[upstream]]\nname = \"next\"\nkind = \"smtp\"\naddress = \"127.0.0.1:{port}\"\n{more}\n")
}

#[test]
fn mail_goes_to_a_real_postfix_by_starttls_and_through_it() {
    let authority = Authority::new("IP:127.0.0.1");
    let sink = Sink::start();
    let (certificate, key) = (authority.certificate().display().to_string(), authority.key().display().to_string());
    let postfix = Postfix::start_with(
        sink.port(),
        &[
            ("smtpd_tls_security_level", "encrypt"),
            ("smtpd_tls_cert_file", &certificate),
            ("smtpd_tls_key_file", &key),
            (
                "smtpd_recipient_restrictions",
                "check_recipient_access inline:{{nobody@example.net = 550 5.1.1 no such user}}, permit",
            ),
        ],
    );
    let upstream = smtp(postfix.port(), &format!("ca_file = \"{}\"", authority.ca_file().display()));
    let gateway = Gateway::start(&format!("{BASE}{upstream}"));
    let mail = b"From: a@example.com\r\nSubject: hello\r\n\r\n.\r\n..two\r\nend\r\n";
    let mut client = Smtp::ready(gateway.port());
    let reply = client.submit("a@example.com", &["b@example.net", "c@example.net"], mail);
    assert_eq!(reply.code, 250, "{reply:?}");
    let reply = client.submit("a@example.com", &["nobody@example.net"], mail);
    assert_eq!((reply.code, reply.text.starts_with("5.1.1 ")), (550, true), "{reply:?}");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());

    let mails = sink.mails();
    let [arrived] = mails.as_slice() else { panic!("{mails:?}\n{}", postfix.log()) };
    assert!(arrived.contains("\nX-Mail-Args: <a@example.com>"), "{arrived}");
    let recipients: Vec<&str> = arrived.lines().filter_map(|line| line.strip_prefix("X-Rcpt-Args: ")).collect();
    assert!(recipients.len() == 2 && recipients[1].starts_with("<c@example.net>"), "{arrived}");
    assert!(arrived.contains("with ESMTPS id"), "Postfix took it in the clear: {arrived}");
    assert!(arrived.contains("\nSubject: hello\n") && arrived.trim_end().ends_with("\n\n.\n..two\nend"), "{arrived}");

    let records = gateway.records("message", 2);
    let queued = records[0]["ses_id"].as_str().unwrap();
    assert!(postfix.log().contains(&format!(" {queued}: ")), "{queued} is no id of\n{}", postfix.log());
    assert_eq!(records[0]["upstream"], "next");
    assert!(records[1]["reason"].as_str().unwrap().starts_with("RCPT: 550 5.1.1 "), "{}", records[1]);
}

#[test]
fn in_queue_mode_only_the_refused_recipient_is_reported() {
    let hop = NextHop::start(Script::answering(|command| {
        command.starts_with("RCPT TO:<b@").then(|| "550 5.1.1 no such user".to_owned())
    }));
    let settings = format!("{BASE}{}[delivery]\nmode = \"queue\"\n", smtp(hop.port(), "tls = \"none\""));
    let gateway = Gateway::start(&settings);
    let mail = b"From: a@example.com\r\n\r\nhello\r\n";
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net", "c@example.net"], mail);
    assert_eq!(reply.code, 250, "{reply:?}");
    assert!(wait_until(PATIENCE, || hop.heard().data.len() == 2), "{:?}", hop.heard().commands);
    let heard = hop.heard();
    let mails: Vec<&String> = heard.commands.iter().filter(|command| command.starts_with("MAIL")).collect();
    assert!(mails[0].starts_with("MAIL FROM:<a@example.com> ") && mails[1].starts_with("MAIL FROM:<> "), "{mails:?}");
    assert_eq!(hop.commands("RCPT").last().map(String::as_str), Some("RCPT TO:<a@example.com>"));
    let report = String::from_utf8_lossy(&heard.data[1]).into_owned();
    assert!(report.contains("Final-Recipient: rfc822; b@example.net"), "{report}");
    assert!(report.contains("550 5.1.1 no such user") && !report.contains("rfc822; c@example.net"), "{report}");
}

#[test]
fn a_wrong_password_is_an_alarm_and_stands_nowhere() {
    let hop =
        NextHop::start(Script { login: Some(("evan", "right")), extensions: vec!["AUTH PLAIN"], ..Script::default() });
    let settings = smtp(hop.port(), "tls = \"none\"\nusername = \"evan\"\npassword = \"chicken\"");
    let mut gateway = Gateway::start(&format!("{BASE}{settings}[log]\nlevel = \"trace\"\n"));
    let mail = b"From: a@example.com\r\n\r\nhello\r\n";
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], mail);
    assert_eq!((reply.code, reply.text.starts_with("4.7.8 ")), (451, true), "{reply:?}");
    let config = gateway.path("headgate.toml").display().to_string();
    let shown = Run::new(&["config", "show", "--config", &config]).within(gateway.folder());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("password = \"(hidden)\""), "{shown}");
    assert_eq!(gateway.stop().code(), Some(0));
    let told = format!("{}{}{shown}", gateway.stderr(), gateway.log());
    assert!(told.contains("an operator is needed"), "{told}");
    for form in ["chicken", "AGV2YW4AY2hpY2tlbg=="] {
        assert!(!told.contains(form), "{told}");
    }
}

#[test]
fn a_fault_of_a_flag_does_not_repeat_a_password() {
    let place = tempfile::tempdir().unwrap();
    let flags = ["config", "check", "--upstream", "smtp:127.0.0.1:25", "--set", "upstream.default.password=chicken"];
    let ran = Run::new(&flags).within(place.path());
    assert_eq!(
        ran.stderr,
        "headgate: --set upstream.default.password: upstream[0].password: a password goes with a username\n"
    );
    let misspelt = Run::new(&["config", "check", "--set", "upstream.default.passwort=chicken"]).within(place.path());
    assert!(misspelt.stderr.contains("passwort") && !misspelt.stderr.contains("chicken"), "{}", misspelt.stderr);
}
