//! What happens with any mail server before the gateway, told once for all of them: which of the two keeps the mail, and
//! who hears of it. Each server's own file says with which one it happens.

use crate::{
    fake_ses::{Answer, Call, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{MailServer, PATIENCE},
    postfix::RT_MAIL,
    queue,
    smtp::Smtp,
};

const MAIL: &[u8] = b"From: a@example.com\nTo: b@example.net\nSubject: hello\n\nhi\n";
const ARGUMENTS: &[&str] = &["-i", "-f", "a@example.com", "b@example.net"];

/// Request Tracker's mail arrives once with its fields mended, for all of its recipients and nobody else.
pub fn rts_mail_arrives_once<Server: MailServer>(start: impl FnOnce(u16) -> Server) {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let server = start(gateway.port());
    let to = ["requestor@example.net", "cc@example.org", "admin@example.net"];
    let output = server.inject(&[&["-i", "-f", "rt@example.com"], &to[..]].concat(), RT_MAIL.as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());

    let accepted = fake.accepted();
    let mut reached: Vec<&str> = accepted.iter().flat_map(Call::recipients).collect();
    reached.sort_unstable();
    assert_eq!(reached, ["admin@example.net", "cc@example.org", "requestor@example.net"], "{}", server.log());
    assert_eq!(fake.counts().received, accepted.len() as u64, "SES took each at once: {}", server.log());
    for call in &accepted {
        assert_eq!(call.feedback.as_deref(), Some("rt@example.com"));
        for (name, value) in [
            ("X-RT-Ticket", "example.com #42"),
            ("X-RT-Originator", "evan@example.com"),
            ("X-Chicken", "yummy"),
            ("Precedence", "bulk"),
            ("Message-ID", "<rt-4.4.3-42@example.com>"),
        ] {
            assert_eq!(call.header(name), [value], "{name}");
        }
        assert_eq!(call.header("RT-Ticket").len() + call.header("Chicken").len(), 0);
        assert_eq!(String::from_utf8_lossy(call.body()), body_of(RT_MAIL).replace('\n', "\r\n"));
    }
    let log = gateway.records("message", accepted.len());
    assert!(
        log.iter().all(|record| record["user"] == "evan@example.com" && record["outcome"] == "delivered"),
        "{log:?}"
    );
}

/// Mail by SMTP, with an empty sender, goes the same way.
pub fn mail_by_smtp_arrives_too<Server: MailServer>(start: impl FnOnce(u16) -> Server) {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let server = start(gateway.port());
    let mut client = Smtp::ready(server.port());
    assert_eq!(client.command("EHLO app.example.com").code, 250);
    let mail = String::from_utf8_lossy(MAIL).replace('\n', "\r\n");
    assert_eq!(client.submit("", &["b@example.net"], mail.as_bytes()).code, 250, "{}", server.log());
    assert!(fake.wait_for_accepted(1, PATIENCE), "{}", server.log());
    let call = fake.accepted().remove(0);
    assert_eq!((call.to.as_slice(), call.feedback.as_deref()), (["b@example.net".to_owned()].as_slice(), None));
}

/// In direct mode the server keeps what SES will not take yet.
pub fn what_ses_throttles_stays_with_the_server<Server: MailServer>(start: impl FnOnce(u16) -> Server) {
    let fake = FakeSes::start(Profile::Today);
    fake.otherwise(Answer::Throttle);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let server = start(gateway.port());
    server.inject(ARGUMENTS, MAIL);
    assert_eq!(server.waiting(), ["b@example.net"], "{}", server.log());
    assert!(fake.accepted().is_empty());
    assert!(server.log().contains("454 4.3.2"), "{}", server.log());

    fake.clear_plan();
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());
    assert_eq!(queue::deliveries(&fake).into_iter().collect::<Vec<_>>(), [("b@example.net".to_owned(), 1)]);
}

/// In queue mode the gateway keeps it, and the server is done with it.
pub fn what_ses_throttles_stays_with_the_gateway<Server: MailServer>(start: impl FnOnce(u16) -> Server) {
    let fake = queue::wide_open();
    fake.otherwise(Answer::Throttle);
    let gateway = queue::gateway(&fake);
    let server = start(gateway.port());
    server.inject(ARGUMENTS, MAIL);
    assert!(server.waiting().is_empty(), "{}", server.log());
    assert!(fake.wait_for_calls(2, PATIENCE) && fake.accepted().is_empty(), "it is tried again");

    fake.clear_plan();
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(queue::deliveries(&fake).into_iter().collect::<Vec<_>>(), [("b@example.net".to_owned(), 1)]);
}

/// What SES refuses for good comes back to its sender as one bounce.
pub fn what_ses_refuses_bounces<Server: MailServer>(start: impl FnOnce(u16) -> Server) {
    let fake = FakeSes::start(Profile::Today);
    let refused = Answer::error(400, "MessageRejected", "Email address is not verified. a@example.com");
    fake.when(|call| call.to == ["b@example.net"], refused);
    let gateway = Gateway::start(&format!("{BASE}{}[bounce]\nfrom = \"bounces@example.com\"\n", ses(&fake.endpoint())));
    let server = start(gateway.port());
    server.inject(ARGUMENTS, MAIL);
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());

    let accepted = fake.accepted();
    let [bounce] = accepted.as_slice() else { panic!("{accepted:?}\n{}", server.log()) };
    assert_eq!(
        (bounce.to.as_slice(), bounce.feedback.as_deref()),
        (["a@example.com".to_owned()].as_slice(), Some("bounces@example.com"))
    );
    let text = String::from_utf8_lossy(bounce.body());
    assert!(text.contains("b@example.net") && text.contains("Email address is not verified."), "{text}");
    assert_eq!(fake.counts().received, 2, "the mail once, the bounce once");
}

fn body_of(mail: &str) -> &str {
    mail.split_once("\n\n").map_or("", |(_, body)| body)
}
