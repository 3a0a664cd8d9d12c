//! What fails out of the queue is told to its sender: once, and nobody else.

use crate::{
    fake_ses::{Answer, Call},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, wait_until},
    queue::{MAIL, QUEUE, deliveries, gateway, wide_open},
    smtp::Smtp,
};

fn is_report(call: &Call) -> bool {
    call.header("Content-Type").iter().any(|value| value.starts_with("multipart/report"))
}

fn text(call: &Call) -> String {
    String::from_utf8_lossy(&call.raw).into_owned()
}

#[test]
fn of_120_recipients_one_is_bad_and_119_are_delivered_once_and_one_report_names_it() {
    let fake = wide_open();
    let bad = |call: &Call| call.recipients().any(|one| one == "r77@example.com");
    fake.when(bad, Answer::error(400, "BadRequestException", "Domain contains illegal character"));
    let gateway = gateway(&fake);
    let many: Vec<String> = (0..120).map(|number| format!("r{number}@example.com")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &many, MAIL).code, 250);
    assert!(fake.wait_until(PATIENCE, |counts| counts.recipients >= 120), "{:?}", fake.counts());
    let delivered = deliveries(&fake);
    assert_eq!(delivered.get("r77@example.com"), None);
    assert_eq!(delivered.len(), 120, "119 recipients and the sender of the report");
    assert!(delivered.values().all(|count| *count == 1));
    let reports: Vec<Call> = fake.accepted().into_iter().filter(is_report).collect();
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!((report.to.as_slice(), report.feedback.as_deref()), (&["a@example.com".to_owned()][..], None));
    let text = text(report);
    assert!(text.contains("\r\nFinal-Recipient: rfc822; r77@example.com\r\n"), "{text}");
    assert_eq!(text.matches("\r\nFinal-Recipient:").count(), 1, "{text}");
    assert!(text.contains("Domain contains illegal character") && text.contains("\r\nSubject: hello\r\n"), "{text}");
    assert_eq!(report.header("From"), ["\"Mail Delivery System\" <postmaster@example.com>"]);
    let failed = gateway
        .records("attempt", 1)
        .into_iter()
        .find(|one| one["request"] == "SMTP from=<a@example.com> to=<r77@example.com>");
    assert_eq!(failed.unwrap()["outcome"], "failed");
}

#[test]
fn what_expires_is_reported_and_no_longer_tried() {
    let fake = wide_open();
    fake.when(|call| call.feedback.is_some(), Answer::error(500, "InternalFailure", "?"));
    let queue = QUEUE.replace("5d", "1s");
    let gateway = Gateway::start(&format!("{BASE}{queue}{}", ses(&fake.endpoint())));
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let report = fake.accepted().remove(0);
    assert!(is_report(&report) && report.to == ["a@example.com"]);
    assert!(text(&report).contains("\r\nAction: failed\r\n"), "{}", text(&report));
    let expired = gateway.records("attempt", 3).into_iter().filter(|one| one["outcome"] == "expired").count();
    assert_eq!(expired, 1);
}

#[test]
fn a_sender_hears_once_that_a_message_is_late() {
    let fake = wide_open();
    fake.when(|call| call.feedback.is_some(), Answer::error(500, "InternalFailure", "?"));
    let settings = format!("{BASE}{QUEUE}[bounce]\ndelay_notice = \"500ms\"\n{}", ses(&fake.endpoint()));
    let gateway = Gateway::start(&settings);
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let tried = fake.counts().refused;
    assert!(fake.wait_until(PATIENCE, |counts| counts.refused >= tried + 4));
    let reports = fake.accepted();
    assert_eq!(reports.len(), 1);
    assert!(text(&reports[0]).contains("\r\nAction: delayed\r\n"), "{}", text(&reports[0]));
}

#[test]
fn what_waits_for_an_upstream_that_is_not_there_is_reported_too() {
    let fake = wide_open();
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/to-nowhere.toml");
    let queue = QUEUE.replace("5d", "1s");
    let rules = format!("[rules]\nfiles = [\"builtin:ses\", \"{rules}\"]\n");
    let mut gateway = Gateway::start(&format!("{BASE}{queue}{rules}{}", ses(&fake.endpoint())));
    let to = ["a@nowhere.example", "b@example.com"];
    let mut client = Smtp::ready(gateway.port());
    for one in to {
        assert_eq!(client.submit("a@example.com", &[one], MAIL).code, 250);
    }
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert!(gateway.stderr().contains("an upstream that there is not; the message waits"), "{}", gateway.stderr());
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_queue_oldest_seconds") >= 1));
    assert_eq!(gateway.stop().code(), Some(0));
    gateway.start_again();
    assert!(fake.wait_for_accepted(2, PATIENCE), "{}", gateway.stderr());
    let reports: Vec<Call> = fake.accepted().into_iter().filter(is_report).collect();
    assert!(reports.len() == 1 && text(&reports[0]).contains("rfc822; a@nowhere.example\r\n"), "{reports:?}");
}

#[test]
fn mail_with_the_null_sender_is_never_reported() {
    let fake = wide_open();
    let bad = |call: &Call| call.recipients().any(|one| one == "bad@example.com");
    fake.when(bad, Answer::error(400, "MessageRejected", "content"));
    let gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.submit("", &["bad@example.com"], MAIL).code, 250);
    assert_eq!(client.submit("a@example.com", &["good@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE) && fake.wait_until(PATIENCE, |counts| counts.refused == 1));
    assert_eq!(gateway.records("attempt", 2).len(), 2);
    assert_eq!(deliveries(&fake).keys().collect::<Vec<_>>(), ["good@example.com"]);
    assert!(gateway.stderr().contains("cannot be reported to anyone"), "{}", gateway.stderr());
}

#[test]
fn a_report_that_is_refused_is_not_reported_again() {
    let fake = wide_open();
    fake.otherwise(Answer::error(400, "MessageRejected", "content"));
    let gateway = gateway(&fake);
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    assert!(fake.wait_until(PATIENCE, |counts| counts.refused == 2));
    let calls = fake.calls();
    assert!(!is_report(&calls[0]) && is_report(&calls[1]));
    fake.otherwise(Answer::Accept);
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["c@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(deliveries(&fake).keys().collect::<Vec<_>>(), ["c@example.com"]);
}
