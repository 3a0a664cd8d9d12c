//! `headgate sendmail`, and the same under the names of sendmail(8): to the gateway, into the store, straight to SES.

use std::{fs, io::Write as _, process::Stdio};

use crate::{
    fake_ses::{FakeSes, Profile},
    fixtures::Ran,
    gateway::{BASE, CREDENTIALS, Gateway, ses},
    link::Link,
    parties::PATIENCE,
};

const MAIL: &[u8] =
    b"From: a@example.com\nTo: b@example.net\nBcc: c@example.net\nSubject: s\nChicken: yummy\n\n.x\n.\ny\n";

/// A gateway in queue mode, and `sendmail` with its settings.
fn gateway(fake: &FakeSes) -> (Gateway, Link) {
    let settings = format!("{BASE}{}[delivery]\nmode = \"queue\"\n", ses(&fake.endpoint()));
    let gateway = Gateway::start(&settings);
    let link = link(&gateway, "sendmail");
    (gateway, link)
}

fn link(gateway: &Gateway, name: &str) -> Link {
    let settings = gateway.path("headgate.toml");
    let link = Link::new(gateway.folder(), name).env("HEADGATE_CONFIG", settings.to_str().unwrap());
    CREDENTIALS.iter().fold(link, |link, (name, value)| link.env(name, value))
}

fn told(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_running_gateway_gets_the_mail() {
    let fake = FakeSes::start(Profile::Today);
    let (gateway, link) = gateway(&fake);
    let ran = link.run(["-t", "-i", "-f", "a@example.com"], MAIL);
    assert_eq!(ran, Ran { stdout: Vec::new(), stderr: String::new(), code: Some(0) });
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let call = fake.calls().remove(0);
    assert_eq!(call.recipients().collect::<Vec<_>>(), ["b@example.net", "c@example.net"]);
    assert_eq!((call.header("Bcc").len(), call.header("X-Chicken").len()), (0, 1));
    assert_eq!(call.body(), b".x\r\n.\r\ny\r\n");
    assert_eq!(gateway.records("message", 1)[0]["client"], "127.0.0.1");

    let verbose = link.run(["-v", "-t", "-f", "a@example.com"], MAIL);
    let place = format!("2.0.0 by the gateway at 127.0.0.1:{}: ", gateway.port());
    assert!(told(&verbose).starts_with(&place), "{verbose:?}");
    assert!(fake.wait_for_accepted(2, PATIENCE));
    assert_eq!(fake.calls()[1].body(), b".x\r\n", "without -i a lone dot ends the message");
}

#[test]
fn a_refusal_of_the_gateway_is_the_command_s() {
    let fake = FakeSes::start(Profile::Today);
    let (_gateway, link) = gateway(&fake);
    let ran = link.run(["-i", "-f", "a@example.com", "b@example.net"], b"From: a@@example.com\n\nx\n");
    assert_eq!(ran.code, Some(65), "{ran:?}");
    assert!(ran.stderr.starts_with("sendmail: 5.6.0 by the gateway at ") && ran.stderr.contains("SES would refuse"));
}

#[test]
fn without_a_gateway_the_store_keeps_the_mail() {
    let fake = FakeSes::start(Profile::Today);
    let (mut gateway, link) = gateway(&fake);
    assert!(gateway.stop().success());
    let ran = link.run(["-v", "-i", "-f", "a@example.com", "b@example.net"], MAIL);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(told(&ran).starts_with("2.0.0 into the store, which a gateway sends when it runs: "), "{ran:?}");
    let queue = self::link(&gateway, "mailq").run([""; 0], b"");
    assert!(told(&queue).contains("b@example.net"), "{queue:?}");
    gateway.start_again();
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let refused = link.run(["-i", "-f", "a@example.com", "b@example.net"], b"From: a@@example.com\n\nx\n");
    assert_eq!(refused.code, Some(65), "{refused:?}");
}

#[test]
fn without_gateway_and_store_it_goes_straight_to_ses() {
    let fake = FakeSes::start(Profile::Today);
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("{}[delivery]\nmode = \"direct\"\n", ses(&fake.endpoint()));
    let settings = format!("[[listener]]\naddress = \"127.0.0.1:{}\"\n{settings}", crate::parties::free_port());
    fs::write(folder.path().join("headgate.toml"), settings).unwrap();
    let link = Link::new(folder.path(), "sendmail").env("HEADGATE_CONFIG", "headgate.toml");
    let link = CREDENTIALS.iter().fold(link, |link, (name, value)| link.env(name, value));
    let ran = link.run(["-v", "-i", "-f", "a@example.com", "b@example.net"], MAIL);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        told(&ran).starts_with("2.0.0 straight to the upstream, since no gateway answers at 127.0.0.1:"),
        "{ran:?}"
    );
    assert_eq!(fake.accepted().len(), 1);
    drop(fake);
    let down = link.run(["-i", "-f", "a@example.com", "b@example.net"], MAIL);
    assert_eq!(down.code, Some(75), "{down:?}");
}

/// Speaks a session by `-bs`; what it answers.
fn session(link: &Link, dialogue: &str) -> String {
    let mut command = link.command();
    command.arg("-bs").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(dialogue.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

const DIALOGUE: &str = "EHLO x\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.net>\r\nDATA\r\nFrom: a@example.com\r\nTo: b@example.net\r\n\r\n..x\r\n.\r\nQUIT\r\n";

#[test]
fn smtp_on_standard_input_is_spoken_by_the_gateway_or_here() {
    let fake = FakeSes::start(Profile::Today);
    let (mut gateway, link) = gateway(&fake);
    let took = |answers: &str| {
        assert!(answers.starts_with("220 relay.example.com "), "{answers}");
        assert!(answers.contains("\r\n250 2.0.0 ") && answers.contains("\r\n221 2.0.0 "), "{answers}");
    };
    took(&session(&link, DIALOGUE));
    assert!(fake.wait_for_accepted(1, PATIENCE));
    gateway.stop();
    took(&session(&link, DIALOGUE));
    gateway.start_again();
    assert!(fake.wait_for_accepted(2, PATIENCE), "the store keeps what was taken here");
    for call in fake.accepted() {
        assert_eq!(call.body(), b".x\r\n");
    }
}

#[test]
fn a_dry_run_tells_and_newaliases_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let link = |name: &str| Link::new(folder.path(), name).env("HEADGATE_HOSTNAME", "h.example");
    let ran = link("sendmail").run(["--dry-run", "-t", "-f", "root"], MAIL);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = told(&ran);
    assert!(text.starts_with("from: <root@h.example>\nto: <b@example.net>, <c@example.net>\n"), "{text}");
    assert!(text.contains("+ X-Chicken: yummy"), "{text}");
    assert_eq!(link("newaliases").run([""; 0], b"").code, Some(0));
    assert_eq!(link("sendmail").run(["-bd"], b"").code, Some(64));
    assert_eq!(link("sendmail").run(["-t"], b"Subject: s\n\n").code, Some(65));
}
