//! `headgate send`, and the same under the name `ses-send-email.pl`: what its callers have relied on since 2011.

use std::fs;

use tempfile::TempDir;

use crate::{
    fake_ses::{Answer, Call, FakeSes, Profile},
    fixtures::Ran,
    link::Link,
};

pub const MAIL: &str = "From: a@example.com\r\nTo: b@example.net\r\nSubject: s\r\n\r\nbody\r\n";

/// A fake SES, a credentials file, and the command under a name.
pub struct Scene {
    pub fake: FakeSes,
    pub folder: TempDir,
    pub link: Link,
}

impl Scene {
    pub fn script() -> Self {
        Self::named("ses-send-email.pl")
    }

    pub fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let credentials = "AWSAccessKeyId=AKIDEXAMPLE\nAWSSecretKey=wJalr=EXAMPLE/KEY=\n";
        fs::write(folder.path().join("credentials"), credentials).unwrap();
        let link = Link::new(folder.path(), name);
        Self { fake: FakeSes::start(Profile::Today), folder, link }
    }

    /// With `-k` and `-e` before these arguments.
    pub fn run(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let endpoint = self.fake.endpoint();
        self.link.run(["-k", "credentials", "-e", &endpoint].iter().chain(arguments), input)
    }

    /// The one call that was made.
    pub fn call(&self) -> Call {
        let mut calls = self.fake.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }
}

pub fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
    Ran { stdout: stdout.as_bytes().to_vec(), stderr: stderr.to_owned(), code: Some(code) }
}

fn recipients(call: &Call) -> Vec<&str> {
    call.recipients().collect()
}

#[test]
fn a_raw_message_is_sent_and_nothing_is_said() {
    let scene = Scene::script();
    assert_eq!(
        scene.run(&["-r", "-f", "a@example.com", "b@example.net", "c@example.net"], MAIL.as_bytes()),
        ran(0, "", "")
    );
    let call = scene.call();
    assert_eq!(
        (recipients(&call), call.feedback.as_deref()),
        (vec!["b@example.net", "c@example.net"], Some("a@example.com"))
    );
    assert_eq!(call.raw, MAIL);
    assert_eq!(call.access_key, "AKIDEXAMPLE");
}

#[test]
fn options_and_operands_mix_in_perl_s_ways() {
    for (arguments, to, feedback) in [
        (
            &["b@example.net", "-R", "--f", "a@example.com", "d@example.net"][..],
            "b@example.net d@example.net",
            Some("a@example.com"),
        ),
        (&["-r", "-f", "a@example.com", "--", "-odd@example.net"], "-odd@example.net", Some("a@example.com")),
        (&["-r", "", "b@example.net c@example.net,,d@example.net"], "b@example.net c@example.net d@example.net", None),
        (&["-r", "-c", "c@example.net", "-b", "d@example.net", "b@example.net"], "b@example.net", None),
        (&["-r", "-f", "", "b@example.net"], "b@example.net", None),
        (&["-r", "-oi", "-t", "-i", "+f=a@example.com", "b@example.net"], "b@example.net", Some("a@example.com")),
    ] {
        let scene = Scene::script();
        assert_eq!(scene.run(arguments, MAIL.as_bytes()), ran(0, "", ""), "{arguments:?}");
        let call = scene.call();
        assert_eq!((recipients(&call).join(" ").as_str(), call.feedback.as_deref()), (to, feedback), "{arguments:?}");
    }
}

#[test]
fn without_operands_the_header_names_the_recipients() {
    let scene = Scene::script();
    let mail = "From: a@example.com\nTo: undisclosed-recipients:;\nCc: C <c@example.net>\nBcc: d@example.net\n\nx\n";
    assert_eq!(scene.run(&["-r"], mail.as_bytes()), ran(0, "", ""));
    let call = scene.call();
    assert_eq!(recipients(&call), ["c@example.net", "d@example.net"]);
    assert!(call.header("Bcc").is_empty());

    let nobody = scene.run(&["-r"], b"From: a@example.com\n\nx\n");
    assert_eq!(nobody, ran(1, "", "Missing recipient: neither an operand nor To, Cc or Bcc names one\n"));
}

#[test]
fn wrong_usage_is_2_and_leaves_no_writer_with_a_broken_pipe() {
    let scene = Scene::script();
    for (arguments, stdout, stderr) in [
        (&["-r", "-s", ""][..], "Subject is not allowed in raw mode!\n", ""),
        (&[], "Missing subject!\n", ""),
        (&["-s", "x"], "Missing sender!\n", ""),
        (&["-s", "x", "-f", "a@example.com"], "Missing recipient!\n", ""),
        (&["-r", "-fa@example.com", "b@example.net"], "", "Unknown option: fa@example.com\n"),
        (&["--verbose=1"], "", "Option verbose does not take an argument\n"),
        (&["-r", "-f"], "", "Option f requires an argument\n"),
    ] {
        // More than a pipe holds: a writer would hear of it.
        let mut child = scene.link.command();
        let mut child = child.args(arguments);
        child = child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, &[b'x'; 1 << 20]).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()), (Some(2), stdout));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with(&format!("{stderr}Usage:\n")), "{arguments:?}: {told}");
    }
    assert!(scene.fake.calls().is_empty());
    assert_eq!(scene.run(&["-h"], b"").code, Some(0));
}

/// One answer of SES: the exit code, that of `--legacy-exit`, and what is printed.
fn answered((status, kind, text, code, legacy): (u16, &str, &str, i32, i32)) {
    let scene = Scene::script();
    scene.fake.otherwise(Answer::error(status, kind, text));
    let arguments = ["-r", "-f", "a@example.com", "b@example.net"];
    let with_switch = ["--legacy-exit", "-r", "b@example.net"];
    // What is tried again takes its time; both may take it together.
    std::thread::scope(|scope| {
        let legacy_run = scope.spawn(|| scene.run(&with_switch, MAIL.as_bytes()));
        assert_eq!(scene.run(&arguments, MAIL.as_bytes()), ran(code, "", &format!("{text}\n")), "{status} {kind}");
        assert_eq!(legacy_run.join().unwrap().code, Some(legacy), "{status} {kind}");
    });
}

#[test]
fn what_ses_refuses_is_said_and_ends_as_it_should() {
    let unverified =
        "Email address is not verified. The following identities failed the check in region US-EAST-1: a@example.com";
    let answers = [
        (400, "BadRequestException", "Illegal header 'Chicken'.", 1, 1),
        (400, "MessageRejected", unverified, 1, 1),
        (403, "AccessDeniedException", "not authorized", 75, 31),
        (403, "SignatureDoesNotMatch", "signature", 75, 31),
        (400, "LimitExceededException", "Daily message quota exceeded", 75, 75),
    ];
    answers.into_iter().for_each(answered);
}

#[test]
fn what_passes_by_itself_is_said_and_ends_as_it_should() {
    let answers = [
        (500, "InternalFailure", "oops", 75, 32),
        (503, "ServiceUnavailable", "later", 75, 30),
        (502, "BadGateway", "proxy", 75, 255),
    ];
    std::thread::scope(|scope| answers.into_iter().for_each(|answer| drop(scope.spawn(move || answered(answer)))));
}

#[test]
fn throttling_is_tried_again_for_a_moment() {
    let scene = Scene::script();
    scene.fake.script([Answer::Throttle]);
    assert_eq!(scene.run(&["-r", "b@example.net"], MAIL.as_bytes()), ran(0, "", ""));
    assert_eq!((scene.fake.calls().len(), scene.fake.accepted().len()), (2, 1));
}

#[test]
fn a_call_that_may_have_been_taken_is_not_repeated() {
    let scene = Scene::script();
    scene.fake.otherwise(Answer::AcceptThenCut);
    let ended = scene.run(&["-r", "b@example.net"], MAIL.as_bytes());
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert_eq!(scene.fake.calls().len(), 1);
}

#[test]
fn verbose_prints_the_document_of_the_first_api() {
    let scene = Scene::script();
    let sent = scene.run(&["-r", "-v", "b@example.net"], MAIL.as_bytes());
    let id = scene.call().message_id().unwrap().to_owned();
    let document = String::from_utf8(sent.stdout).unwrap();
    assert!(
        document.contains(&format!("<MessageId>{id}</MessageId>")) && document.starts_with("<SendRawEmailResponse")
    );

    scene.fake.otherwise(Answer::error(400, "BadRequestException", "Illegal header '<x>'."));
    let refused = scene.run(&["-r", "-v", "b@example.net"], MAIL.as_bytes());
    assert_eq!(refused.stderr, "Illegal header '<x>'.\n");
    let document = String::from_utf8(refused.stdout).unwrap();
    assert!(
        document.contains("<Code>BadRequestException</Code>\n    <Message>Illegal header '&lt;x&gt;'.</Message>"),
        "{document}"
    );
}

#[test]
fn a_simple_message_is_made_with_its_blind_recipients_in_the_envelope_only() {
    let scene = Scene::script();
    let arguments = [
        "-s",
        "Grüße",
        "-f",
        "A a <a@example.com>",
        "-c",
        "C c <c1@example.net>,c2@example.net",
        "-b",
        "d@example.net",
        "b@example.net,b2@example.net",
    ];
    assert_eq!(scene.run(&arguments, "Grüße\n.\n".as_bytes()), ran(0, "", ""));
    let call = scene.call();
    assert_eq!(
        recipients(&call),
        ["b@example.net", "b2@example.net", "c1@example.net", "c2@example.net", "d@example.net"]
    );
    assert_eq!(call.header("Cc"), ["\"C c\" <c1@example.net>, <c2@example.net>"]);
    assert!(call.header("Bcc").is_empty() && !String::from_utf8_lossy(&call.raw).contains("d@example.net"));
    assert_eq!(call.header("Subject"), ["=?utf-8?B?R3LDvMOfZQ==?="]);
}

#[test]
fn rules_mend_a_raw_message_and_none_leaves_it_octet_for_octet() {
    let mail = "\u{feff}Return-Path: <x@example.com>\nFrom: a@example.com\nTo: b@example.net\nChicken: yummy\nX-Z: 1\nMessage-ID: <1@x>\n\n\u{e9}\n";
    let scene = Scene::script();
    assert_eq!(scene.run(&["-r", "-f", "a@example.com", "b@example.net"], mail.as_bytes()), ran(0, "", ""));
    let call = scene.call();
    assert_eq!(call.header_names(), ["From", "To", "X-Chicken", "X-Z", "Message-ID"]);
    assert_eq!(call.body(), "\u{e9}\r\n".as_bytes());

    let scene = Scene::script();
    let octets =
        [b"From: a@example.com\nTo: b@example.net\nChicken: yummy\nChicken: yucky\n\n".as_slice(), b"\xe9\r\n.\n"]
            .concat();
    scene.fake.otherwise(Answer::Accept);
    scene.run(&["-r", "--rules", "none", "b@example.net"], &octets);
    assert_eq!(scene.call().raw, octets);
}

#[test]
fn fifty_one_recipients_take_two_calls() {
    let scene = Scene::script();
    let many: Vec<String> = (1..=51).map(|n| format!("r{n}@example.net")).collect();
    let mut arguments = vec!["-r"];
    arguments.extend(many.iter().map(String::as_str));
    assert_eq!(scene.run(&arguments, MAIL.as_bytes()), ran(0, "", ""));
    let counts: Vec<usize> = scene.fake.calls().iter().map(|call| call.to.len()).collect();
    assert_eq!(counts, [50, 1]);

    let scene = Scene::named("headgate");
    scene.fake.script([Answer::Accept, Answer::error(403, "AccessDeniedException", "no")]);
    let mut all = vec!["send", "-k", "credentials", "-e"];
    let endpoint = scene.fake.endpoint();
    all.push(&endpoint);
    all.extend(arguments);
    let ended = scene.link.run(all, MAIL.as_bytes());
    assert_eq!(
        ended,
        ran(75, "", "4.7.0 SES: no; 50 of 51 recipients have it, who get it twice when it is sent again\n")
    );
}

#[test]
fn the_null_sender_never_waits_for_days() {
    for sender in ["MAILER-DAEMON", "<>", "mailer-daemon@host.example"] {
        let scene = Scene::script();
        let mail = format!("Return-Path: <{sender}>\n{}", MAIL.replace("\r\n", "\n"));
        assert_eq!(scene.run(&["-r", "-f", sender, "b@example.net"], mail.as_bytes()), ran(0, "", ""), "{sender}");
        assert_eq!((scene.call().feedback.as_deref(), scene.call().header("Return-Path").len()), (None, 0));
    }
    let scene = Scene::script();
    let without = scene.run(&["-r", "-f", "MAILER-DAEMON", "b@example.net"], b"To: b@example.net\n\nx\n");
    assert_eq!(without.code, Some(1), "{without:?}");

    let settings = scene.folder.path().join("headgate.toml");
    fs::write(&settings, "[bounce]\nfrom = \"bounces@example.com\"\n").unwrap();
    let link = Link::new(scene.folder.path(), "ses-send-email.pl").env("HEADGATE_CONFIG", settings.to_str().unwrap());
    let endpoint = scene.fake.endpoint();
    let arguments = ["-k", "credentials", "-e", &endpoint, "-r", "-f", "MAILER-DAEMON", "b@example.net"];
    assert_eq!(link.run(arguments, MAIL.as_bytes()), ran(0, "", ""));
    assert_eq!(scene.call().feedback.as_deref(), Some("bounces@example.com"));
}

#[test]
fn as_headgate_send_a_line_begins_with_an_enhanced_code() {
    let scene = Scene::named("headgate");
    let endpoint = scene.fake.endpoint();
    let send = |more: &[&str], mail: &str| {
        let arguments = ["send", "-k", "credentials", "-e", &endpoint];
        scene.link.run(arguments.iter().chain(more), mail.as_bytes())
    };
    let sent = send(&["-r", "b@example.net"], MAIL);
    let id = scene.call().message_id().unwrap().to_owned();
    assert_eq!(sent, ran(0, &format!("2.0.0 Ok {id}\n"), ""));
    assert!(send(&["-s", "x"], MAIL).stderr.starts_with("4.3.5 Missing sender!\nUsage:\n    headgate send "));
    assert_eq!(send(&["-r", "root"], MAIL), ran(1, "", "5.1.3 Missing final '@domain': root\n"));
    let refused = send(&["-r", "b@example.net"], "From: a@@example.com\nTo: b@example.net\n\nx\n");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.starts_with("5.6.0 SES would refuse this message: "), "{}", refused.stderr);
    scene.fake.otherwise(Answer::error(400, "BadRequestException", "Illegal header 'X'."));
    assert_eq!(send(&["-r", "b@example.net"], MAIL), ran(1, "", "5.6.0 SES: Illegal header 'X'.\n"));
}

#[test]
fn a_dry_run_tells_and_sends_nothing() {
    let scene = Scene::named("headgate");
    let endpoint = scene.fake.endpoint();
    let mail = "From: a@example.com\nTo: b@example.net\nBcc: c@example.net\nChicken: yummy\n\nx\n";
    let told = scene.link.run(["send", "--dry-run", "-e", &endpoint, "-r"], mail.as_bytes());
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    for part in
        ["from: <>\n", "to: <b@example.net>, <c@example.net>\n", "+ X-Chicken: yummy\n", "lint: clean\n", &endpoint]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = scene.link.run(["send", "--dry-run", "--json", "-e", &endpoint, "-r"], mail.as_bytes());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["recipients"][1], &json["refused"]), (&"c@example.net".into(), &false.into()));
    assert!(scene.fake.calls().is_empty());
}

#[test]
fn one_dot_of_two_is_taken_back_on_demand() {
    let scene = Scene::script();
    let mail = "From: a@example.com\nTo: b@example.net\n\n..\n...x\n.y\n";
    assert_eq!(scene.run(&["-r", "--unstuff", "b@example.net"], mail.as_bytes()).code, Some(0));
    assert_eq!(scene.call().body(), b".\r\n..x\r\n.y\r\n");
}
