//! A message's whole way: in by SMTP, through the rules, out by the SES API, one line in the log.

use std::time::Duration;

use crate::{
    fake_ses::{Answer, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    smtp::Smtp,
};

const ZOMBIES: &[u8] = b"From: evan@example.com\r\nTo: evan@example.com\r\nSubject: Email\r\nChicken: yummy\r\nCats: yucky\r\nX-Zombies: kill them!\r\n\r\nNow the body.\r\n";

#[test]
fn chicken_arrives_with_its_x_and_the_reply_and_the_log_name_it() {
    let fake = FakeSes::start(Profile::Year2011);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let reply = Smtp::ready(gateway.port()).submit("evan@example.com", &["evan@example.com"], ZOMBIES);
    assert_eq!(reply.code, 250, "{reply:?}");

    let calls = fake.accepted();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(call.header_names()[1..], ["From", "To", "Subject", "X-Chicken", "X-Cats", "X-Zombies"]);
    assert_eq!(call.body(), b"Now the body.\r\n");
    assert_eq!(call.to, ["evan@example.com"]);
    assert_eq!(call.from_email_address, None, "it would replace From");
    assert_eq!(call.feedback.as_deref(), Some("evan@example.com"));

    let records = gateway.records("message", 1);
    let id = records[0]["id"].as_str().unwrap();
    assert_eq!(call.tag("headgate-id"), Some(id));
    assert_eq!(records[0]["ses_id"].as_str(), call.message_id());
    assert!(reply.text.contains(id) && reply.text.contains(call.message_id().unwrap()), "{reply:?}");
    assert!(call.header("Received")[0].contains(id));
    assert_eq!(records[0]["outcome"], "delivered");
    assert_eq!(records[0]["size"], ZOMBIES.len());
}

#[test]
fn the_rt_user_stands_in_the_combined_line() {
    let fake = FakeSes::start(Profile::Today);
    let settings = BASE.replace("\"json\"", "\"combined\"");
    let mut gateway = Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())));
    let mail =
        b"From: rt@example.com\r\nX-RT-Originator: \"Evan\" <evan@example.com>\r\nUser-Agent: RT \"5\"\r\n\r\nhi\r\n";
    assert_eq!(
        Smtp::ready(gateway.port()).submit("rt@example.com", &["b@example.com", "c@example.com"], mail).code,
        250
    );
    assert_eq!(gateway.stop().code(), Some(0));
    let log = gateway.log();
    let lines: Vec<&str> = log.lines().collect();
    let [line] = lines.as_slice() else { panic!("{log}") };
    assert!(line.starts_with("127.0.0.1 - evan@example.com ["), "{line}");
    let rest = format!(
        "\"SMTP from=<rt@example.com> to=<b@example.com>,<c@example.com>\" 250 {} \"-\" \"RT \\\"5\\\"\" ",
        mail.len()
    );
    assert!(line.contains(&rest), "{line}");
}

#[test]
fn what_ses_answers_is_what_the_client_hears() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let answers = [
        (Answer::Throttle, 454, "4.3.2"),
        (Answer::error(400, "MessageRejected", "Email address is not verified. x"), 554, "5.7.1"),
        (Answer::error(403, "ExpiredTokenException", "The security token is expired"), 451, "4.7.0"),
        (Answer::error(400, "SendingPausedException", "Account is paused"), 451, "4.3.2"),
        (Answer::error(500, "InternalFailure", "?"), 451, "4.3.0"),
        (Answer::error(400, "BadRequestException", "Illegal content.\r\n250 2.0.0 forged"), 554, "5.6.0"),
        (Answer::CutAfterReading, 451, "4.4.2"),
        (Answer::AcceptThenCut, 451, "4.4.2"),
    ];
    let mut client = Smtp::ready(gateway.port());
    for (index, (answer, code, enhanced)) in answers.into_iter().enumerate() {
        fake.script([answer]);
        let reply = client.submit("a@example.com", &["b@example.com"], b"From: a@example.com\r\n\r\nhi\r\n");
        assert_eq!((reply.code, reply.text.starts_with(enhanced)), (code, true), "{index}: {reply:?}");
        assert_eq!(fake.counts().received, index as u64 + 1, "one attempt, no retry of the SDK's own");
    }
    assert_eq!(client.command("NOOP").code, 250);
    assert_eq!(gateway.records("message", 8).len(), 8);
    assert!(gateway.page("/metrics").1.contains("headgate_attempts_total{outcome=\"failed\"} 2"));
}

#[test]
fn an_answer_that_comes_too_late_is_doubtful_and_its_outcome_is_logged_all_the_same() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::Hang]);
    let settings = format!("{BASE}{}[delivery]\ndirect_timeout = \"1s\"\n", ses(&fake.endpoint()));
    let gateway = Gateway::start(&settings);
    let reply =
        Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], b"From: a@example.com\r\n\r\nhi\r\n");
    assert_eq!((reply.code, reply.text.starts_with("4.4.2")), (451, true), "{reply:?}");
    assert!(gateway.records("message", 1)[0]["reason"].as_str().unwrap().contains("ambiguous"));
    fake.release();
    let late = gateway.records("attempt", 1);
    assert_eq!(late[0]["outcome"], "delivered");
    assert_eq!(late[0]["id"], gateway.records("message", 1)[0]["id"]);
    assert!(fake.wait_for_accepted(1, Duration::from_secs(30)));
}
