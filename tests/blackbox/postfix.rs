//! Postfix before the gateway, as most who use it have it: what Postfix is told, what it does then, and that its own
//! log, the access log and SES's record tell the same story.

use std::{collections::BTreeSet, thread, time::Duration};

use serde_json::Value;

use crate::{
    fake_ses::{Answer, Call, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, free_port, moto::Moto, postfix::Postfix, wait_until},
    smtp::Smtp,
};

/// How long Postfix may take for a mail that has to be tried again.
const RETRIES: Duration = Duration::from_secs(120);

/// The mails of the run with the angry SES, and the sessions they come in.
const MAILS: usize = 500;
const SESSIONS: usize = 10;

/// A mail as Request Tracker 4 and its forerunners make it, with a field that nobody knows.
pub const RT_MAIL: &str = "\
From: \"Evan via RT\" <rt@example.com>
To: requestor@example.net
Subject: [example.com #42] Zombies
RT-Ticket: example.com #42
Managed-by: RT 4.4.3 (http://www.bestpractical.com/rt/)
RT-Originator: evan@example.com
X-RT-Loop-Prevention: example.com
Chicken: yummy
Precedence: bulk
Message-ID: <rt-4.4.3-42@example.com>

Ticket 42 was touched.

.hidden
  -- 
the end
";

#[test]
fn rts_mail_reaches_an_emulated_ses_with_its_x_and_its_user_in_the_log() {
    let moto = Moto::start();
    let gateway = Gateway::with_ses(&moto.endpoint());
    let postfix = Postfix::start(gateway.port());
    let output = postfix.inject(&["-t", "-i", "-f", "rt@example.com"], RT_MAIL.as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());

    let sent = moto.sent();
    let [mail] = sent.as_slice() else { panic!("{sent:?}\n{}", postfix.log()) };
    let (header, body) = mail.raw.split_once("\r\n\r\n").unwrap();
    let fields: Vec<&str> = header.split("\r\n").collect();
    for expected in [
        "From: \"Evan via RT\" <rt@example.com>",
        "Subject: [example.com #42] Zombies",
        "X-RT-Ticket: example.com #42",
        "X-Managed-by: RT 4.4.3 (http://www.bestpractical.com/rt/)",
        "X-RT-Originator: evan@example.com",
        "X-RT-Loop-Prevention: example.com",
        "X-Chicken: yummy",
        "Precedence: bulk",
        "Message-ID: <rt-4.4.3-42@example.com>",
    ] {
        assert!(fields.contains(&expected), "no {expected} in {header}");
    }
    for name in ["RT-Ticket:", "Managed-by:", "RT-Originator:", "Chicken:", "X-X-", "X-Precedence:"] {
        assert!(!fields.iter().any(|field| field.starts_with(name)), "{name} in {header}");
    }
    assert_eq!(body, RT_MAIL.split_once("\n\n").unwrap().1.replace('\n', "\r\n"));
    assert_eq!(mail.source, "rt@example.com");

    let records = gateway.records("message", 1);
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((record["user"].as_str(), record["user_source"].as_str()), (Some("evan@example.com"), Some("rule")));
    let Told { reply, .. } = only(told(&postfix.log(), "sent"));
    assert_eq!(reply, format!("250 2.0.0 Ok {} (id {})", text(record, "ses_id"), text(record, "id")));
}

#[test]
fn behind_postfix_an_angry_ses_gets_every_mail_once_and_three_records_agree() {
    let fake = FakeSes::start(Profile::Today);
    fake.every(7, Answer::Throttle);
    fake.every(31, Answer::error(500, "InternalFailure", "We encountered an internal error."));
    let gateway = Gateway::with_ses(&fake.endpoint());
    let postfix = Postfix::start_with(gateway.port(), &[("in_flow_delay", "0")]);
    thread::scope(|scope| {
        for session in 0..SESSIONS {
            let port = postfix.port();
            scope.spawn(move || inject_rt_mails(port, session));
        }
    });
    assert!(postfix.wait_queue_empty(RETRIES), "{:?}", postfix.queue());

    let calls = fake.calls();
    let log = gateway.records("message", calls.len());
    let by_log = |outcome: &str| -> BTreeSet<Told> {
        log.iter().filter(|record| record["outcome"] == outcome).map(Told::in_record).collect()
    };
    let by_ses = |accepted: bool| -> BTreeSet<Told> {
        calls.iter().filter(|call| call.is_accepted() == accepted).map(Told::by_call).collect()
    };
    let maillog = postfix.log();
    let (sent, deferred) = (set(told(&maillog, "sent")), set(told(&maillog, "deferred")));
    assert_eq!(sent.len(), MAILS);
    let recipients: BTreeSet<&str> = sent.iter().map(|one| one.recipient.as_str()).collect();
    assert_eq!(recipients, (0..MAILS).map(address).collect::<Vec<_>>().iter().map(String::as_str).collect());
    assert_eq!(by_ses(true), sent, "what SES took is what Postfix knows as sent");
    assert_eq!(by_log("delivered"), sent, "and what the log has as delivered");
    assert!(deferred.len() > MAILS / 8, "{}", deferred.len());
    assert_eq!(by_ses(false), deferred);
    assert_eq!(by_log("deferred"), deferred);
    assert_eq!((calls.len(), log.len()), (sent.len() + deferred.len(), sent.len() + deferred.len()));
    for call in fake.accepted() {
        assert_is_rt_mail(&call);
    }
}

/// One session with Postfix in which every mail differs from all others.
fn inject_rt_mails(port: u16, session: usize) {
    let mut client = Smtp::ready(port);
    for number in (session..MAILS).step_by(SESSIONS) {
        let mail = RT_MAIL.replace("42", &number.to_string()).replace("requestor@example.net", &address(number));
        let reply = client.submit("rt@example.com", &[&address(number)], mail.replace('\n', "\r\n").as_bytes());
        assert_eq!(reply.code, 250, "{reply:?}");
    }
    assert_eq!(client.command("QUIT").code, 221);
}

/// Whether header and body are those of the mail that was meant for this recipient.
fn assert_is_rt_mail(call: &Call) {
    let number = call.to[0].trim_start_matches("requestor").split('@').next().unwrap();
    assert_eq!(call.header("Subject"), [format!("[example.com #{number}] Zombies")]);
    assert_eq!(call.header("X-RT-Ticket"), [format!("example.com #{number}")]);
    assert_eq!(call.header("Message-ID"), [format!("<rt-4.4.3-{number}@example.com>")]);
    assert!(call.body().starts_with(format!("Ticket {number} was touched.\r\n\r\n.hidden\r\n").as_bytes()));
}

fn address(number: usize) -> String {
    format!("requestor{number}@example.net")
}

#[test]
fn what_ses_refuses_for_good_comes_back_to_its_sender_as_one_bounce() {
    let fake = FakeSes::start(Profile::Today);
    let refused = Answer::error(400, "MessageRejected", "Email address is not verified. a@example.com");
    fake.when(|call| call.to == ["dead@example.net"], refused);
    let gateway = Gateway::start(&format!("{BASE}{}[bounce]\nfrom = \"bounces@example.com\"\n", ses(&fake.endpoint())));
    let postfix = Postfix::start(gateway.port());
    postfix.inject(&["-i", "-f", "a@example.com", "dead@example.net"], b"From: a@example.com\nSubject: hello\n\nhi\n");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());

    assert_eq!(only(told(&postfix.log(), "bounced")).recipient, "dead@example.net");
    let accepted = fake.accepted();
    let [bounce] = accepted.as_slice() else { panic!("{accepted:?}\n{}", postfix.log()) };
    assert_eq!(bounce.to, ["a@example.com"]);
    assert_eq!(bounce.feedback.as_deref(), Some("bounces@example.com"));
    assert!(bounce.header("Content-Type")[0].starts_with("multipart/report"));
    let text = String::from_utf8_lossy(bounce.body());
    assert!(text.contains("554 5.7.1 SES: Email address is not verified."), "{text}");
    assert_eq!(fake.counts().received, 2, "the mail once, the bounce once");
    let requests: Vec<String> = gateway.records("message", 2).iter().map(|record| text_of(record, "request")).collect();
    assert_eq!(requests, ["SMTP from=<a@example.com> to=<dead@example.net>", "SMTP from=<> to=<a@example.com>"]);
}

#[test]
fn a_bounce_that_ses_refuses_too_ends_in_postfix() {
    let fake = FakeSes::start(Profile::Today);
    fake.otherwise(Answer::error(400, "MessageRejected", "Email address is not verified. a@example.com"));
    let gateway = Gateway::with_ses(&fake.endpoint());
    let postfix = Postfix::start(gateway.port());
    postfix.inject(&["-i", "-f", "a@example.com", "dead@example.net"], b"From: a@example.com\nSubject: hello\n\nhi\n");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
    assert_eq!(fake.counts().received, 2, "the mail and its bounce, and no bounce of a bounce: {}", postfix.log());
    assert_eq!(gateway.records("message", 2).len(), 2);
}

#[test]
fn while_ses_is_away_postfix_keeps_the_mail_and_delivers_it_once_afterwards() {
    let port = free_port();
    let gateway = Gateway::with_ses(&format!("http://127.0.0.1:{port}"));
    let postfix = Postfix::start(gateway.port());
    postfix.inject(&["-i", "-f", "a@example.com", "b@example.net"], b"From: a@example.com\nSubject: hello\n\nhi\n");
    assert!(wait_until(PATIENCE, || !told(&postfix.log(), "deferred").is_empty()), "{}", postfix.log());
    let Told { reply, .. } = told(&postfix.log(), "deferred").remove(0);
    assert!(reply.contains("451 4.4.1 SES cannot be reached"), "{reply}");

    let fake = FakeSes::start_on(Profile::Today, port);
    postfix.flush();
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
    assert_eq!(set(told(&postfix.log(), "sent")), fake.accepted().iter().map(Told::by_call).collect());
    assert_eq!(fake.counts().received, 1);
    let log = gateway.records("message", told(&postfix.log(), "deferred").len() + 1);
    assert_eq!(log.iter().filter(|record| record["outcome"] == "delivered").count(), 1);
}

#[test]
fn utf_8_in_the_header_is_encoded_and_any_octet_in_the_body_passes_through_postfix() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let postfix = Postfix::start(gateway.port());
    let octets: Vec<u8> = (0x80..=0xff).collect();
    let mail = [
        "From: Jörg Müller <a@example.com>\nTo: b@example.net\nSubject: Grüße – 日本語\n\n".as_bytes(),
        "Füße\n".as_bytes(),
        &octets,
        b"\n",
    ];
    let output = postfix.inject(&["-i", "-f", "a@example.com", "b@example.net"], &mail.concat());
    assert!(output.status.success(), "{output:?}");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());

    let accepted = fake.accepted();
    let [call] = accepted.as_slice() else { panic!("{accepted:?}\n{}", postfix.log()) };
    // "Grüße – 日本語"
    assert_eq!(call.header("Subject"), ["=?UTF-8?B?R3LDvMOfZSDigJMg5pel5pys6Kqe?="]);
    assert_eq!(call.header("From"), ["=?UTF-8?Q?J=C3=B6rg_M=C3=BCller?= <a@example.com>"]);
    assert!(call.header("Received")[0].contains(" with UTF8SMTP "), "{:?}", call.header("Received"));
    assert_eq!(call.body(), ["Füße\r\n".as_bytes(), &octets, b"\r\n"].concat());
    assert!(told(&postfix.log(), "bounced").is_empty(), "{}", postfix.log());
}

#[test]
fn sixty_recipients_of_one_mail_get_it_once_each() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let postfix = Postfix::start(gateway.port());
    let recipients: Vec<String> = (0..60).map(address).collect();
    let mut arguments = vec!["-i", "-f", "a@example.com"];
    arguments.extend(recipients.iter().map(String::as_str));
    postfix.inject(&arguments, b"From: a@example.com\nSubject: hello\n\nhi\n");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());

    let calls = fake.calls();
    assert!(calls.iter().all(|call| call.is_accepted() && call.to.len() <= 50), "{calls:?}");
    let mut reached: Vec<&str> = calls.iter().flat_map(Call::recipients).collect();
    let mut expected: Vec<&str> = recipients.iter().map(String::as_str).collect();
    reached.sort_unstable();
    expected.sort_unstable();
    assert_eq!(reached, expected);
    let counted: u64 =
        gateway.records("message", calls.len()).iter().filter_map(|record| record["recipients"].as_u64()).sum();
    assert_eq!(counted, 60);
}

/// What one of the three records tells of one attempt for one recipient.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    recipient: String,
    /// The gateway's id.
    id: String,
    /// SES's id of an accepted message.
    ses_id: Option<String>,
    /// The reply that Postfix got; not compared with the others.
    reply: String,
}

impl Told {
    fn in_record(record: &Value) -> Self {
        let recipient = text(record, "request").split_once(" to=<").unwrap().1.trim_end_matches('>').to_owned();
        let ses_id = record["ses_id"].as_str().map(str::to_owned);
        Self { recipient, id: text_of(record, "id"), ses_id, reply: String::new() }
    }

    fn by_call(call: &Call) -> Self {
        let id = call.tag("headgate-id").unwrap().to_owned();
        Self { recipient: call.to.join(","), id, ses_id: call.message_id().map(str::to_owned), reply: String::new() }
    }
}

/// Postfix's lines of one status, such as
/// `to=<b@example.net>, relay=…, status=sent (250 2.0.0 Ok SESID (id ID))`.
fn told(maillog: &str, status: &str) -> Vec<Told> {
    let one = |line: &str| {
        let (head, reply) = line.split_once(&format!(" status={status} ("))?;
        let recipient = head.split_once(" to=<")?.1.split_once('>')?.0.to_owned();
        let reply = reply.strip_suffix(')')?.to_owned();
        let id = reply.split_once("(id ").map_or("", |(_, rest)| rest.split(')').next().unwrap_or_default()).to_owned();
        let ses_id = reply.strip_prefix("250 2.0.0 Ok ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        Some(Told { recipient, id, ses_id, reply })
    };
    maillog.lines().filter_map(one).collect()
}

/// As a set in which the same thing told twice shows, less what the other records cannot know.
fn set(told: Vec<Told>) -> BTreeSet<Told> {
    let count = told.len();
    let set: BTreeSet<Told> = told.into_iter().map(|one| Told { reply: String::new(), ..one }).collect();
    assert_eq!(set.len(), count, "something is told twice");
    set
}

fn only(mut told: Vec<Told>) -> Told {
    assert_eq!(told.len(), 1, "{told:?}");
    told.remove(0)
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap()
}

fn text_of(record: &Value, key: &str) -> String {
    text(record, key).to_owned()
}
