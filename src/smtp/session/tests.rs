use bytes::Bytes;

use super::{super::codec::DataFault, *};

fn session() -> Session {
    let offer = Offer {
        hostname: "relay.example.com".to_owned(),
        message_size: 1000,
        recipients: 2,
        errors: 4,
        starttls: true,
        logins: Logins::Optional,
        lmtp: false,
        dsn: true,
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        trusted: Vec::new(),
    };
    let client = Client::new("192.0.2.1".parse().unwrap(), "smtp");
    Session::new(Arc::new(offer), client, Id::nil)
}

fn codes(session: &mut Session, lines: &[&str]) -> Vec<u16> {
    lines.iter().map(|line| said(session, line).code()).collect()
}

/// The reply to a line; there is room, and no rule says anything against a recipient.
fn said(session: &mut Session, line: &str) -> Reply {
    let mut step = session.line(line.as_bytes());
    step = match step.next {
        Next::Room(_, envelope) => session.room(*envelope, true),
        Next::Recipient(address, asked) => session.recipient(*address, asked, None),
        _ => step,
    };
    step.reply.unwrap()
}

#[test]
fn a_transaction() {
    let mut session = session();
    assert_eq!(
        codes(&mut session, &["EHLO x", "MAIL FROM:<a@example.com>", "RCPT TO:<b@example.net>"]),
        [250, 250, 250]
    );
    assert!(matches!(session.line(b"DATA").next, Next::Data));
    let step = session.data(Ok(Bytes::from("x")), 1);
    let Next::Submit(transaction) = step.next else { panic!("{step:?}") };
    assert_eq!(transaction.envelope.recipients[0].to_string(), "b@example.net");
    assert_eq!(codes(&mut session, &["RCPT TO:<c@example.net>"]), [503], "recipients do not leak into the next");
}

#[test]
fn data_after_refused_recipients_only_is_refused() {
    let mut session = session();
    let lines = ["EHLO x", "MAIL FROM:<a@example.com>", "RCPT TO:<bad@.example.net>", "DATA"];
    assert_eq!(codes(&mut session, &lines), [250, 250, 553, 554]);
    let Some(Event::Ended(open, End::Aborted)) = session.lost() else { panic!("no event") };
    assert_eq!(open.refusal.unwrap().code(), 553);
}

#[test]
fn the_third_recipient_is_put_off_and_a_repeated_one_counts_once() {
    let mut session = session();
    codes(&mut session, &["EHLO x", "MAIL FROM:<>"]);
    let lines =
        ["RCPT TO:<b@example.net>", "RCPT TO:<b@example.net>", "RCPT TO:<c@example.net>", "RCPT TO:<d@example.net>"];
    assert_eq!(codes(&mut session, &lines), [250, 250, 250, 452]);
}

#[test]
fn too_many_errors_end_the_session() {
    let mut session = session();
    assert_eq!(codes(&mut session, &["X", "X", "X", "X", "X"]), [500, 500, 500, 500, 421]);
}

#[test]
fn a_client_that_may_not_relay_is_told_so_at_mail() {
    let mut session = session();
    session.client.address = "198.51.100.1".parse().unwrap();
    session.line(b"EHLO x");
    let step = session.line(b"MAIL FROM:<a@example.com>");
    assert_eq!(step.reply.as_ref().map(Reply::code), Some(550));
    assert!(matches!(step.event, Some(Event::MailRefused(..))));
}

#[test]
fn a_size_that_finds_no_room_is_put_off_before_the_message_is_sent() {
    let mut session = session();
    session.line(b"EHLO x");
    let step = session.line(b"MAIL FROM:<a@example.com> SIZE=900");
    let Next::Room(900, envelope) = step.next else { panic!("{step:?}") };
    assert!(step.reply.is_none() && !session.in_transaction());
    let step = session.room(*envelope, false);
    assert_eq!(
        step.reply.map(|reply| reply.to_string()).as_deref(),
        Some("452 4.3.1 Too many large messages at once; try again")
    );
    assert!(matches!(step.event, Some(Event::MailRefused(sender, _)) if sender == "a@example.com"));
    assert_eq!(codes(&mut session, &["RCPT TO:<b@example.net>", "MAIL FROM:<a@example.com> SIZE=900"]), [503, 250]);
    assert!(session.in_transaction());
}

#[test]
fn a_message_too_large_is_refused_once() {
    let mut session = session();
    codes(&mut session, &["EHLO x", "MAIL FROM:<a@example.com>", "RCPT TO:<b@example.net>", "DATA"]);
    let step = session.data(Err(DataFault::TooLarge), 1001);
    assert!(matches!(step.next, Next::Answer(ref reply) if reply.code() == 552), "{step:?}");
    assert_eq!((session.answers(), step.reply.is_none()), (1, true));
    assert!(matches!(step.event, Some(Event::Ended(_, End::Refused(_, 1001)))));
    assert_eq!(codes(&mut session, &["MAIL FROM:<a@example.com> SIZE=1001", "NOOP"]), [552, 250]);
}

#[test]
fn behind_the_handshake_nothing_is_known_of_what_was_said_before() {
    let mut session = session();
    assert!(said(&mut session, "EHLO x").to_string().contains("STARTTLS"));
    codes(&mut session, &["MAIL FROM:<a@example.com>", "RCPT TO:<b@example.net>"]);
    let step = session.line(b"starttls");
    assert!(matches!((step.next, step.event), (Next::Handshake, Some(Event::Ended(_, End::Aborted)))));
    assert_eq!(step.reply.map(|reply| reply.to_string()).as_deref(), Some("220 2.0.0 Begin TLS now"));
    session.secured("TLSv1.3");
    let client = session.client();
    assert_eq!((client.helo.as_str(), client.extended, client.tls.as_deref()), ("", false, Some("TLSv1.3")));
    let lines = ["DATA", "RCPT TO:<b@example.net>", "MAIL FROM:<a@example.com>", "STARTTLS"];
    assert_eq!(codes(&mut session, &lines), [503, 503, 503, 503]);
    assert!(!said(&mut session, "EHLO x").to_string().contains("STARTTLS"));
}

#[test]
fn what_is_pipelined_behind_starttls_ends_the_session() {
    let mut session = session();
    session.line(b"EHLO x");
    session.line(b"STARTTLS");
    let step = session.pipelined();
    assert_eq!(step.reply.map(|reply| reply.code()), Some(503));
    assert!(matches!(step.next, Next::Close) && session.client().tls.is_none());
}

#[test]
fn starttls_that_is_not_offered_is_refused() {
    let mut session = session();
    Arc::get_mut(&mut session.offer).unwrap().starttls = false;
    assert!(!said(&mut session, "EHLO x").to_string().contains("STARTTLS"));
    assert_eq!(codes(&mut session, &["STARTTLS"]), [502]);
    assert!(session.client().tls.is_none());
}
