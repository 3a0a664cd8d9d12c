//! The smtp upstream against a server that says what the test wants: who gets which outcome, what goes over the wire.

use std::{fmt::Write as _, fs, sync::Arc, time::Duration};

use bytes::Bytes;
use headgate::{
    mail::{Address, Id, Options, Outcome, Outcomes, Period, Pressure, Secret, Sender},
    upstream::{self, Attempt, Feedback, Kind, Service, Settings, Site, Tls, Upstream},
};

use crate::parties::{
    PATIENCE,
    authority::Authority,
    next_hop::{NextHop, Privacy, Script},
};

const MAIL: &[u8] = b"From: a@example.com\r\nSubject: hello\r\n\r\nhello\r\n";

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn settings(port: u16) -> Settings {
    Settings {
        kind: Kind::Smtp,
        address: format!("127.0.0.1:{port}"),
        tls: Tls::None,
        attempt_timeout: Period(PATIENCE),
        ..Settings::default()
    }
}

async fn built(settings: &Settings) -> Arc<dyn Upstream> {
    let site = Site {
        hostname: "relay.example.com".to_owned(),
        bounce: Some(address("bounces@example.com")),
        ..Site::default()
    };
    upstream::build(settings, &site).await.unwrap()
}

fn attempt(recipients: &[&str], message: &[u8]) -> Attempt {
    Attempt {
        id: Id::nil(),
        sender: Sender(Some(address("a@example.com"))),
        recipients: recipients.iter().map(|one| address(one)).collect(),
        message: Bytes::copy_from_slice(message),
        options: Options::default(),
        dsn: Default::default(),
        asked: Default::default(),
    }
}

/// One outcome in a line: fate, reply, and marks for alarm and doubt.
fn shown(outcome: &Outcome) -> String {
    let mut text = format!("{} {}", outcome.fate.word(), outcome.reply);
    for (is, mark) in [(outcome.alarm, " alarm"), (outcome.ambiguous, " doubt")] {
        text.push_str(if is { mark } else { "" });
    }
    text
}

/// The outcomes of the first `count` recipients.
fn all(outcomes: &Outcomes, count: usize) -> Vec<String> {
    (0..count).map(|at| shown(&outcomes.of(at))).collect()
}

/// Sends to b, c and d; one line an outcome.
async fn send(script: Script) -> (Vec<String>, NextHop) {
    let hop = NextHop::start(script);
    let upstream = built(&settings(hop.port())).await;
    let outcomes = upstream.send(attempt(&["b@example.net", "c@example.net", "d@example.net"], MAIL)).await;
    (all(&outcomes, 3), hop)
}

fn answers(pairs: &'static [(&'static str, &'static str)]) -> Script {
    Script::answering(|command| {
        pairs.iter().find(|(begin, _)| command.starts_with(begin)).map(|(_, answer)| (*answer).to_owned())
    })
}

const DELIVERED: &str = "delivered 250 2.0.0 Ok: queued as 4A7B";

#[tokio::test]
async fn each_recipient_has_an_outcome_of_its_own() {
    for pipelining in [true, false] {
        let mut script =
            answers(&[("RCPT TO:<b@", "550-5.1.1 no such\n550 5.1.1 user"), ("RCPT TO:<c@", "450 4.2.1 full")]);
        script.extensions.retain(|one| pipelining || *one != "PIPELINING");
        let (outcomes, hop) = send(script).await;
        assert_eq!(outcomes, ["failed 550 5.1.1 no such user", "deferred 450 4.2.1 full", DELIVERED]);
        assert_eq!(hop.heard().data, [MAIL]);
        assert_eq!(hop.commands("MAIL"), [format!("MAIL FROM:<a@example.com> SIZE={}", MAIL.len())]);
        assert_eq!(hop.commands("EHLO"), ["EHLO relay.example.com"]);
    }
}

#[tokio::test]
async fn what_is_said_of_the_message_is_for_those_who_were_not_refused() {
    let refused = "failed 550 5.1.1 no";
    for (script, expected) in [
        (answers(&[("RCPT TO:<b@", "550 5.1.1 no"), ("END", "554 5.6.0 bad")]), [refused, "failed 554 5.6.0 bad"]),
        (answers(&[("RCPT TO:<b@", "550 5.1.1 no"), ("DATA", "451 4.3.0 busy")]), [refused, "deferred 451 4.3.0 busy"]),
        (answers(&[("MAIL", "553 5.1.8 who are you")]), ["failed 553 5.1.8 who are you"; 2]),
        (answers(&[("MAIL", "530 5.7.0 log in first")]), ["deferred 451 4.7.0 log in first alarm"; 2]),
        (answers(&[("RCPT", "550 no")]), ["failed 550 5.0.0 no"; 2]),
    ] {
        let (outcomes, _) = send(script).await;
        assert_eq!(outcomes[..2], expected);
    }
    let (_, hop) = send(answers(&[("RCPT", "550 no")])).await;
    assert_eq!(hop.commands("DATA"), [""; 0], "nobody is there to take it");
}

#[tokio::test]
async fn a_lost_connection_is_doubtful_only_behind_the_final_dot() {
    let broke = "deferred 451 4.4.2 The connection to the next server broke";
    for (script, expected) in [
        (answers(&[("CONNECT", "CUT")]), broke.to_owned()),
        (answers(&[("RCPT TO:<d@", "CUT")]), broke.to_owned()),
        (answers(&[("DATA", "CUT")]), broke.to_owned()),
        (answers(&[("DATA", "421 4.3.2 closing")]), "deferred 451 4.3.2 closing".to_owned()),
        (answers(&[("RCPT TO:<d@", "421 4.3.2 closing")]), "deferred 451 4.3.2 closing".to_owned()),
        (answers(&[("END", "CUT")]), format!("{broke} doubt")),
        (answers(&[("END", "what?")]), format!("{broke} doubt")),
        (
            answers(&[("END", "354 more?")]),
            "deferred 451 4.5.0 The next server said something unexpected doubt".to_owned(),
        ),
    ] {
        let (outcomes, _) = send(script).await;
        assert_eq!(outcomes, [&expected; 3].map(String::as_str));
    }
}

#[tokio::test]
async fn an_attempt_ends_with_its_time() {
    for (script, doubt) in [(answers(&[("MAIL", "HANG")]), ""), (answers(&[("END", "HANG")]), " doubt")] {
        let hop = NextHop::start(script);
        let settings = Settings { attempt_timeout: Period(Duration::from_secs(2)), ..settings(hop.port()) };
        let outcomes = built(&settings).await.send(attempt(&["b@example.net"], MAIL)).await;
        let expected = format!("deferred 451 4.4.2 The next server did not answer in time{doubt}");
        assert_eq!(all(&outcomes, 1), [expected]);
    }
}

#[tokio::test]
async fn every_octet_arrives() {
    let hop = NextHop::start(Script::default());
    let upstream = built(&settings(hop.port())).await;
    let long = [b"From: a@example.com\r\n\r\nx", vec![b'.'; 300_000].as_slice(), b"\r\n"].concat();
    for (message, data) in [
        (&b".\r\n..two\r\nend\r\n"[..], &b"..\r\n...two\r\nend\r\n"[..]),
        (b"a: b\r\n\r\nlone\nlf\n.x and\rcr\r.y\r\n", b"a: b\r\n\r\nlone\nlf\n.x and\rcr\r.y\r\n"),
        (b"a: b\r\n\r\n\xff\xfe\0\r\n", b"a: b\r\n\r\n\xff\xfe\0\r\n"),
        (b"a: b\r\n\r\nno end", b"a: b\r\n\r\nno end\r\n"),
        (b"", b""),
        (&long, &long),
    ] {
        assert_eq!(all(&upstream.send(attempt(&["b@example.net"], message)).await, 1), [DELIVERED]);
        let heard = hop.heard().data.pop().unwrap();
        assert!(heard == data, "{:?}", String::from_utf8_lossy(heard.get(..80).unwrap_or(&heard)));
    }
    assert_eq!(hop.commands("MAIL").iter().filter(|mail| mail.ends_with(" BODY=8BITMIME")).count(), 1);
    assert_eq!(hop.heard().connections, 1, "one connection does for all");
}

#[tokio::test]
async fn what_the_server_cannot_take_is_not_sent_to_it() {
    let script = Script { extensions: vec!["SIZE 100"], ..Script::default() };
    let hop = NextHop::start(script);
    let upstream = built(&settings(hop.port())).await;
    let big = format!("From: a@example.com\r\n\r\n{}\r\n", "x".repeat(100));
    for (message, code) in [
        (big.as_bytes(), "552 5.3.4"),
        ("a: \u{e9}\r\n\r\n".as_bytes(), "554 5.6.3"),
        (b"a: b\r\n\r\n\n.\r\nMAIL FROM:<x@y.example>\r\n", "554 5.6.0"),
    ] {
        let outcome = upstream.send(attempt(&["b@example.net"], message)).await.of(0);
        assert!(shown(&outcome).starts_with(&format!("failed {code} ")), "{}", shown(&outcome));
    }
    assert_eq!(hop.commands("MAIL"), [""; 0]);
    let message = headgate::header::split(&Bytes::from(big));
    let findings = upstream.lint(&headgate::mail::Envelope::default(), &message);
    assert_eq!(findings.len(), 1, "the size is known by now: {findings:?}");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_waited_costs_nothing() {
    let script = Script::answering(|command| (command == "RSET").then(|| "CUT".to_owned()));
    let hop = NextHop::start(script);
    let upstream = built(&settings(hop.port())).await;
    for connections in 1..=3 {
        assert_eq!(all(&upstream.send(attempt(&["b@example.net"], MAIL)).await, 1), [DELIVERED]);
        assert_eq!(hop.heard().connections, connections);
    }
}

#[tokio::test]
async fn tls_is_checked_and_never_left_out() {
    let (authority, stranger) = (Authority::new("DNS:localhost,IP:127.0.0.1"), Authority::new("DNS:other.example.com"));
    let starttls = Script { privacy: Privacy::Starttls(authority.server()), ..Script::default() };
    let implicit = Script { privacy: Privacy::Implicit(authority.server()), ..Script::default() };
    let renamed = Script { privacy: Privacy::Starttls(stranger.server()), ..Script::default() };
    let no = "deferred 451 4.7.5 There is no TLS with the next server alarm";
    for (script, tls, ca, expected) in [
        (&starttls, Tls::Auto, &authority, DELIVERED),
        (&implicit, Tls::Implicit, &authority, DELIVERED),
        (&starttls, Tls::Starttls, &stranger, no),
        (&implicit, Tls::Implicit, &stranger, no),
        (&renamed, Tls::Starttls, &stranger, no),
        (&Script::default(), Tls::Starttls, &authority, no),
    ] {
        let hop = NextHop::start(script.clone());
        for host in ["127.0.0.1", "localhost"] {
            let address = format!("{host}:{}", hop.port());
            let settings = Settings { address, tls, ca_file: ca.ca_file(), ..settings(hop.port()) };
            let outcomes = built(&settings).await.send(attempt(&["b@example.net"], MAIL)).await;
            assert_eq!(all(&outcomes, 1), [expected], "{}", outcomes.of(0).cause);
        }
        assert_eq!(hop.heard().data.is_empty(), expected == no);
    }
}

#[tokio::test]
async fn what_stands_in_the_clear_behind_starttls_is_not_believed() {
    let authority = Authority::new("IP:127.0.0.1");
    let mut script = answers(&[("STARTTLS", "220 go\n250 AUTH PLAIN")]);
    script.privacy = Privacy::Starttls(authority.server());
    let hop = NextHop::start(script);
    let settings = Settings { tls: Tls::Starttls, ca_file: authority.ca_file(), ..settings(hop.port()) };
    let outcome = built(&settings).await.send(attempt(&["b@example.net"], MAIL)).await.of(0);
    assert!(outcome.reply.to_string().starts_with("451 4.7.5 ") && outcome.alarm, "{}", shown(&outcome));
}

#[tokio::test]
async fn logins_by_plain_and_login() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    for mechanisms in ["AUTH PLAIN LOGIN", "AUTH LOGIN CRAM-MD5", "AUTH=LOGIN"] {
        let script =
            Script { login: Some(("evan", "s3 cr\u{e9}t")), extensions: vec![mechanisms], ..Script::default() };
        let hop = NextHop::start(script);
        fs::write(&file, "s3 cr\u{e9}t\n").unwrap();
        let settings = Settings { username: "evan".to_owned(), password_file: file.clone(), ..settings(hop.port()) };
        let upstream = built(&settings).await;
        assert_eq!(all(&upstream.send(attempt(&["b@example.net"], MAIL)).await, 1), [DELIVERED], "{mechanisms}");
        assert!(upstream.check().await.is_ok());
        // It is read anew at each login.
        fs::write(&file, "wrong").unwrap();
        let fault = upstream.check().await.unwrap_err();
        assert_eq!(fault, "AUTH: 535 Authentication credentials invalid");
        assert_eq!(hop.commands("LOGIN"), ["LOGIN evan s3 cr\u{e9}t", "LOGIN evan s3 cr\u{e9}t", "LOGIN evan wrong"]);
    }
}

#[tokio::test]
async fn a_login_that_is_not_taken_is_the_operators_and_never_shown() {
    for extensions in [vec!["AUTH PLAIN"], vec!["AUTH CRAM-MD5"], vec![]] {
        let hop = NextHop::start(Script { login: Some(("evan", "right")), extensions, ..Script::default() });
        let settings =
            Settings { username: "evan".to_owned(), password: Secret::new("chicken"), ..settings(hop.port()) };
        let mut told = format!("{settings:?} {}", serde_json::to_string(&settings).unwrap());
        let outcomes = built(&settings).await.send(attempt(&["b@example.net"], MAIL)).await;
        assert_eq!(all(&outcomes, 1), ["deferred 451 4.7.8 The next server does not take our login alarm"]);
        let _ = write!(told, "{outcomes:?}");
        assert!(!told.contains("chicken"), "{told}");
        assert_eq!(hop.commands("MAIL"), [""; 0]);
    }
}

#[tokio::test]
async fn a_server_that_says_the_login_back_does_not_bring_it_into_the_log() {
    for (mechanism, said) in [
        ("AUTH PLAIN", "500 5.5.1 Unrecognized command: AUTH PLAIN AGV2YW4AY2hpY2tlbg=="),
        ("AUTH PLAIN", "AUTH PLAIN AGV2YW4AY2hpY2tlb"),
        ("AUTH PLAIN", "535 5.7.8 chicken is not the password of evan"),
        ("AUTH LOGIN", "501 5.5.2 y2hPY2Tlbg== is no base64"),
    ] {
        let script = Script::answering(move |command| (command == "LOGIN").then(|| said.to_owned()));
        let hop = NextHop::start(Script { extensions: vec![mechanism], ..script });
        let settings =
            Settings { username: "evan".to_owned(), password: Secret::new("chicken"), ..settings(hop.port()) };
        let outcomes = built(&settings).await.send(attempt(&["b@example.net"], MAIL)).await;
        let told = format!("{outcomes:?}");
        assert!(told.contains("the server repeats the login"), "{told}");
        for secret in ["AGV2YW4", "chicken", "Y2hpY2", "y2hPY2"] {
            assert!(!told.contains(secret), "{secret} in {told}");
        }
    }
}

#[tokio::test]
async fn ses_by_smtp_gets_its_options_and_its_words_are_known() {
    let hop = NextHop::start(Script::answering(|command| match command {
        "END" => Some("454 Throttling failure: Daily message quota exceeded.".to_owned()),
        _ => None,
    }));
    let settings = Settings {
        service: Service::Ses,
        configuration_set: "set".to_owned(),
        tags: [("team".to_owned(), "ops".to_owned())].into(),
        ..settings(hop.port())
    };
    let upstream = built(&settings).await;
    assert_eq!(upstream.batch(), 50);
    let null = Attempt { sender: Sender(None), ..attempt(&["b@example.net"], MAIL) };
    let outcome = upstream.send(null.clone()).await.of(0);
    assert_eq!(
        (shown(&outcome).as_str(), outcome.pressure),
        ("deferred 454 4.0.0 Throttling failure: Daily message quota exceeded.", Some(Pressure::Quota))
    );
    let data = String::from_utf8(hop.heard().data.remove(0)).unwrap();
    let expected = format!(
        "From: a@example.com\r\nSubject: hello\r\nX-SES-CONFIGURATION-SET: set\r\nX-SES-MESSAGE-TAGS: headgate-id={}, team=ops\r\n\r\nhello\r\n",
        Id::nil()
    );
    assert_eq!(data, expected);
    let verified = Settings { feedback: Feedback::To(address("reports@example.com")), ..settings.clone() };
    built(&verified).await.send(null.clone()).await;
    let other = Settings { service: Service::Other, ..settings };
    built(&other).await.send(null).await;
    let senders = hop.commands("MAIL").into_iter().map(|mail| mail.split(' ').nth(1).unwrap().to_owned());
    let expected = ["FROM:<bounces@example.com>", "FROM:<reports@example.com>", "FROM:<>"];
    assert_eq!(senders.collect::<Vec<_>>(), expected);
    assert_eq!(hop.heard().data.last().map(Vec::as_slice), Some(MAIL), "no option for any other server");
}

#[tokio::test]
async fn the_check_says_what_an_operator_needs_to_know() {
    let hop = NextHop::start(Script::default());
    assert!(built(&settings(hop.port())).await.check().await.is_ok());
    assert_eq!(hop.heard().commands, ["EHLO relay.example.com", "NOOP", "QUIT"]);
    let port = crate::parties::free_port();
    let fault = built(&settings(port)).await.check().await.unwrap_err();
    assert!(fault.starts_with(&format!("127.0.0.1 port {port}: Connection refused")), "{fault}");
    let closed = NextHop::start(answers(&[("CONNECT", "554 5.3.2 no service here")]));
    let fault = built(&settings(closed.port())).await.check().await.unwrap_err();
    assert_eq!(fault, "greeting: 554 5.3.2 no service here");
}
