//! Queue mode: durable here, then sent; what SES says decides what comes next.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    fake_ses::{Account, Answer, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, wait_until},
    smtp::Smtp,
};

pub const MAIL: &[u8] = b"From: a@example.com\r\nSubject: hello\r\nChicken: yummy\r\n\r\nhi\r\n";

/// A queue that tries again soon.
pub const QUEUE: &str =
    "[delivery]\nmode = \"queue\"\nretry = { first = \"100ms\", max = \"300ms\", expire = \"5d\" }\n";

/// A fake that takes mail as fast as it comes.
pub fn wide_open() -> FakeSes {
    let fake = FakeSes::start(Profile::Today);
    fake.set_account(Account { max_send_rate: 100_000.0, max_24_hour_send: -1.0, sent_last_24_hours: 0.0 });
    fake
}

pub fn gateway(fake: &FakeSes) -> Gateway {
    Gateway::start(&format!("{BASE}{QUEUE}{}", ses(&fake.endpoint())))
}

/// How often each recipient was accepted, by the fake's own record.
pub fn deliveries(fake: &FakeSes) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for call in fake.accepted() {
        for recipient in call.recipients() {
            *count.entry(recipient.to_owned()).or_default() += 1;
        }
    }
    count
}

#[test]
fn a_queued_message_is_delivered_under_the_id_of_its_reply() {
    let fake = wide_open();
    let gateway = gateway(&fake);
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], MAIL);
    assert_eq!((reply.code, reply.text.starts_with("2.0.0 Ok queued (id ")), (250, true), "{reply:?}");
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let call = fake.accepted().remove(0);
    let (message, attempt) = (gateway.records("message", 1).remove(0), gateway.records("attempt", 1).remove(0));
    assert_eq!((message["outcome"].as_str(), attempt["outcome"].as_str()), (Some("queued"), Some("delivered")));
    let id = message["id"].as_str().unwrap();
    assert_eq!((attempt["id"].as_str(), call.tag("headgate-id")), (Some(id), Some(id)));
    assert!(reply.text.contains(id) && call.header("X-Chicken") == ["yummy"]);
    assert_eq!(attempt["ses_id"].as_str(), call.message_id());
    assert_eq!(call.feedback.as_deref(), Some("a@example.com"));
}

#[test]
fn what_throttling_and_faults_put_off_is_delivered_once() {
    let fake = wide_open();
    fake.every(3, Answer::Throttle);
    fake.every(5, Answer::error(500, "InternalFailure", "?"));
    fake.every(7, Answer::error(403, "AccessDeniedException", "not authorized"));
    let gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    for number in 0..60 {
        let to = format!("r{number}@example.com");
        assert_eq!(client.submit("a@example.com", &[&to], MAIL).code, 250);
    }
    assert!(fake.wait_for_accepted(60, PATIENCE), "{:?}", fake.counts());
    assert!(deliveries(&fake).values().all(|count| *count == 1));
    assert_eq!(deliveries(&fake).len(), 60);
    let failed = gateway.records("attempt", 60).iter().filter(|one| one["outcome"] == "failed").count();
    assert_eq!(failed, 0);
}

#[test]
fn an_account_at_its_rate_is_not_asked_faster() {
    let fake = FakeSes::start(Profile::Today);
    fake.set_account(Account { max_send_rate: 20.0, max_24_hour_send: -1.0, sent_last_24_hours: 0.0 });
    let gateway = gateway(&fake);
    assert!(fake.wait_until(PATIENCE, |counts| counts.account > 0));
    let mut client = Smtp::ready(gateway.port());
    let begun = std::time::Instant::now();
    for number in 0..10 {
        let to: Vec<String> = (0..5).map(|each| format!("r{number}-{each}@example.com")).collect();
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        assert_eq!(client.submit("a@example.com", &to, MAIL).code, 250);
    }
    assert!(fake.wait_for_accepted(10, PATIENCE));
    // 45 recipients have to wait for tokens, of which there are 18 a second: a rate is a time that is not fallen below.
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_restart_finds_everything() {
    let fake = wide_open();
    fake.otherwise(Answer::Throttle);
    let mut gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    let large = [b"From: a@example.com\r\n\r\n".as_slice(), "large body\r\n".repeat(50_000).as_bytes()].concat();
    for number in 0..10 {
        let mail = if number == 3 { large.as_slice() } else { MAIL };
        assert_eq!(client.submit("a@example.com", &[&format!("r{number}@example.com")], mail).code, 250);
    }
    assert_eq!(gateway.stop().code(), Some(0));
    fake.otherwise(Answer::Accept);
    gateway.start_again();
    assert!(fake.wait_for_accepted(10, PATIENCE), "{:?} {}", fake.counts(), gateway.stderr());
    assert_eq!(deliveries(&fake).values().copied().collect::<Vec<_>>(), [1; 10]);
    let calls = fake.accepted();
    let call = calls.iter().find(|call| call.to == ["r3@example.com"]).unwrap();
    assert!(call.raw.ends_with(&large[23..]));
}

#[test]
fn what_was_accepted_just_before_a_kill_is_delivered_after_it() {
    let fake = wide_open();
    fake.otherwise(Answer::Hang);
    let mut gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    for number in 0..5 {
        assert_eq!(client.submit("a@example.com", &[&format!("r{number}@example.com")], MAIL).code, 250);
    }
    assert!(fake.wait_for_calls(5, PATIENCE));
    gateway.kill();
    fake.otherwise(Answer::Accept);
    gateway.start_again();
    assert!(fake.wait_for_accepted(5, PATIENCE), "{:?}", fake.counts());
    assert_eq!(deliveries(&fake).len(), 5);
    assert!(gateway.stderr().contains("they are in doubt messages=5"), "{}", gateway.stderr());
}

#[test]
fn mail_queued_before_a_rule_change_keeps_what_intake_made_of_it() {
    let fake = wide_open();
    fake.otherwise(Answer::Throttle);
    let mut gateway = gateway(&fake);
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    gateway.stop();
    let settings = std::fs::read_to_string(gateway.path("headgate.toml")).unwrap();
    std::fs::write(gateway.path("headgate.toml"), format!("{settings}[rules]\nfiles = []\n")).unwrap();
    fake.otherwise(Answer::Accept);
    gateway.start_again();
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(fake.accepted()[0].header("X-Chicken"), ["yummy"]);
}

#[test]
fn a_rule_holds_a_message_back() {
    let fake = wide_open();
    let gateway = Gateway::start(
        &format!(
            "{BASE}{QUEUE}{}[rules]\nfiles = [\"builtin:ses\", \"{{folder}}/hold.toml\"]\n",
            ses(&fake.endpoint())
        )
        .replace("{folder}/hold.toml", concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/hold-secret.toml")),
    );
    let mut client = Smtp::ready(gateway.port());
    let reply =
        client.submit("a@example.com", &["b@example.com"], b"From: a@example.com\r\nSubject: secret\r\n\r\nx\r\n");
    assert_eq!((reply.code, reply.text.starts_with("2.0.0 Ok held")), (250, true), "{reply:?}");
    assert_eq!(client.submit("a@example.com", &["c@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(deliveries(&fake).keys().collect::<Vec<_>>(), ["c@example.com"]);
    assert_eq!(gateway.records("message", 2)[0]["outcome"], "held");
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_queue_messages{state=\"held\"}") == 1));
    assert_eq!(gateway.metric("headgate_upstream_well{upstream=\"fake\"}"), 1);
}

#[test]
fn a_full_store_puts_mail_off_and_recovers_by_itself() {
    let fake = wide_open();
    fake.otherwise(Answer::Throttle);
    let store = "[store]\nsize = \"600KB\"\n";
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{store}{}", ses(&fake.endpoint())));
    let large = [b"From: a@example.com\r\n\r\n".as_slice(), "large body\r\n".repeat(30_000).as_bytes()].concat();
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.submit("a@example.com", &["b@example.com"], &large).code, 250);
    let reply = client.submit("a@example.com", &["c@example.com"], &large);
    assert_eq!((reply.code, reply.text.starts_with("4.3.1 ")), (452, true), "{reply:?}");
    fake.otherwise(Answer::Accept);
    let mut code = 0;
    assert!(wait_until(PATIENCE, || {
        code = client.submit("a@example.com", &["c@example.com"], &large).code;
        code != 452
    }));
    assert_eq!(code, 250);
    assert!(fake.wait_for_accepted(2, PATIENCE));
    assert_eq!(deliveries(&fake).len(), 2);
}

#[test]
fn in_direct_mode_more_than_fifty_recipients_are_queued_when_there_is_a_store() {
    let fake = wide_open();
    let settings = format!("{BASE}[delivery]\nmode = \"direct\"\n[store]\n{}", ses(&fake.endpoint()));
    let gateway = Gateway::start(&settings);
    let many: Vec<String> = (0..120).map(|number| format!("r{number}@example.com")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut client = Smtp::ready(gateway.port());
    let reply = client.submit("a@example.com", &many, MAIL);
    assert!(reply.text.starts_with("2.0.0 Ok queued"), "{reply:?}");
    assert!(fake.wait_for_accepted(3, PATIENCE));
    assert_eq!(fake.accepted().iter().map(|call| call.to.len()).collect::<Vec<_>>(), [50, 50, 20]);
    let reply = client.submit("a@example.com", &many[..50], MAIL);
    assert!(reply.text.starts_with("2.0.0 Ok 0"), "{reply:?}");
}

#[test]
fn a_second_gateway_on_the_same_store_does_not_start() {
    let fake = wide_open();
    let mut first = gateway(&fake);
    let store = first.path("headgate.db").display().to_string();
    let mut second =
        Gateway::launch(&format!("{BASE}{QUEUE}[store]\nurl = \"sqlite:{store}\"\n{}", ses(&fake.endpoint())));
    assert_eq!(second.wait_for_end().code(), Some(75), "{}", second.stderr());
    assert!(second.stderr().contains("in use by another process"), "{}", second.stderr());
    assert!(first.runs());
}

#[test]
fn an_identity_that_delivered_lately_and_is_said_not_to_be_verified_waits() {
    let fake = wide_open();
    let gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(gateway.records("attempt", 1).len(), 1);
    fake.refuse_senders(["a@example.com"]);
    assert_eq!(client.submit("a@example.com", &["c@example.com"], MAIL).code, 250);
    assert!(fake.wait_until(PATIENCE, |counts| counts.refused >= 2));
    fake.refuse_senders::<&str>([]);
    assert!(fake.wait_for_accepted(2, PATIENCE));
    assert_eq!(deliveries(&fake)["c@example.com"], 1);
    assert!(gateway.stderr().contains("delivered lately"), "{}", gateway.stderr());
}

#[test]
fn a_used_up_daily_quota_is_waited_for_and_told() {
    let fake = wide_open();
    fake.script([Answer::error(400, "LimitExceededException", "Daily message quota exceeded")]);
    let gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.submit("a@example.com", &["b@example.com"], MAIL).code, 250);
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("the daily quota is used up")));
    assert_eq!(client.submit("a@example.com", &["c@example.com"], MAIL).code, 250);
    let attempts = gateway.records("attempt", 1);
    assert_eq!((attempts.len(), attempts[0]["outcome"].as_str()), (1, Some("deferred")));
    assert_eq!(fake.counts().received, 1);
}
