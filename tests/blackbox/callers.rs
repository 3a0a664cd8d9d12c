//! The programs that call sendmail(8), each as it does: real ones where they can be had, else with their arguments.
//!
//! They find a link of that name, and a gateway that runs with the settings of their environment. The mail reaches SES for
//! the recipients that were meant, and a `Bcc` is seen by nobody.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use crate::{
    fake_ses::{Call, FakeSes, Profile},
    gateway::{CREDENTIALS, Gateway},
    parties::fed,
    pipe::Installed,
};

/// A machine with a gateway, and the link.
struct Machine {
    fake: FakeSes,
    gateway: Gateway,
    installed: Installed,
}

impl Machine {
    fn new() -> Self {
        let fake = FakeSes::start(Profile::Today);
        let gateway = Gateway::with_ses(&fake.endpoint());
        Self { fake, gateway, installed: Installed::new() }
    }

    /// The link.
    fn sendmail(&self) -> PathBuf {
        self.installed.path("sendmail")
    }

    /// The home of the caller; programs that look for settings of their own find none.
    fn home(&self, file: &str) -> PathBuf {
        self.installed.path(file)
    }

    /// A program in an environment that names the gateway's settings.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.home(""));
        command.env("LC_ALL", "C.UTF-8").env("HEADGATE_CONFIG", self.gateway.path("headgate.toml"));
        command
    }

    /// The call that this led to.
    fn call(&self, output: &Output) -> Call {
        assert!(output.status.success(), "{output:?}\n{}", self.gateway.stderr());
        let calls = self.fake.calls();
        let [.., call] = calls.as_slice() else { panic!("nothing arrived: {output:?}") };
        assert!(call.is_accepted(), "{call:?}");
        assert!(call.header("Bcc").is_empty(), "{:?}", call.header("Bcc"));
        call.clone()
    }
}

#[track_caller]
fn assert_arrived(call: &Call, sender: &str, recipients: &[&str], subject: &str) {
    assert_eq!(call.feedback.as_deref(), Some(sender));
    assert_eq!(call.recipients().collect::<Vec<_>>(), recipients);
    assert_eq!(call.header("Subject"), [subject]);
}

/// Who calls, with which arguments and message, and to whom it goes.
type Caller = (&'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const ROOT: &[&str] = &["root@relay.example.com"];

const CALLERS: &[Caller] = &[
    (
        "cronie",
        &["-FCronDaemon", "-i", "-odi", "-oem", "-oi", "-t", "-f", "root"],
        "From: \"(Cron Daemon)\" <root>\nTo: root\nSubject: report\n\n",
        ROOT,
    ),
    (
        "vixie cron",
        &["-FCronDaemon", "-odi", "-oem", "-oi", "-t"],
        "From: root (Cron Daemon)\nTo: root\nSubject: report\n\n",
        ROOT,
    ),
    (
        "Debian's cron",
        &["-i", "-FCronDaemon", "-B8BITMIME", "-oem", "root"],
        "From: root (Cron Daemon)\nTo: root\nSubject: report\n\n",
        ROOT,
    ),
    (
        "systemd-cron",
        &["-i", "-B", "8BITMIME", "admin@example.org"],
        "From: root (systemd-cron)\nTo: admin@example.org\nSubject: report\n\n",
        &["admin@example.org"],
    ),
    ("anacron", &["-FAnacron", "-odi", "root"], "From: Anacron <root>\nTo: root\nSubject: report\n\n", ROOT),
    ("at", &["-i", "root"], "Subject: report\nTo: root\n\n", ROOT),
    (
        "busybox",
        &["-ti"],
        "To: admin@example.org\nSubject: report\nBcc: b@example.net\n\n",
        &["admin@example.org", "b@example.net"],
    ),
    ("mdadm", &["-t", "-froot"], "From: mdadm monitoring <root>\nTo: root\nSubject: report\n\n", ROOT),
    (
        "Request Tracker",
        &["-oi", "-t", "-f", "root@relay.example.com"],
        "From: rt@example.com\nTo: a@example.net\nCc: b@example.net\nBcc: c@example.net\nSubject: report\n\n",
        &["a@example.net", "b@example.net", "c@example.net"],
    ),
    ("sudo", &["-t"], "To: root\nFrom: root\nAuto-Submitted: auto-generated\nSubject: report\n\n", ROOT),
];

#[test]
fn callers_that_give_a_list_of_arguments() {
    let machine = Machine::new();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = format!("{}@relay.example.com", String::from_utf8_lossy(&user).trim());
    for (who, arguments, header, recipients) in CALLERS {
        let named = arguments.iter().any(|argument| argument.starts_with("-f"));
        let sender = if named { "root@relay.example.com" } else { &user };
        let text = format!("{header}done\n");
        let output = fed(machine.command(machine.sendmail()).args(*arguments), text.as_bytes());
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{who}: {output:?}");
        let call = machine.call(&output);
        assert_arrived(&call, sender, recipients, "report");
        assert!(call.header("From").concat().contains('@'), "{who}: {:?}", call.header("From"));
        assert_eq!(call.body(), b"done\r\n", "{who}");
    }
    assert_eq!(machine.fake.counts().accepted, CALLERS.len() as u64);
}

#[test]
fn a_caller_without_any_settings_of_a_gateway_sends_straight_out() {
    let machine = Machine::new();
    let mut command = machine.command(machine.sendmail());
    command.env_remove("HEADGATE_CONFIG").envs(CREDENTIALS.iter().copied());
    command.env("HEADGATE_UPSTREAM", "ses:us-east-1").env("HEADGATE_DELIVERY__MODE", "direct");
    command.env("HEADGATE_UPSTREAM__DEFAULT__ENDPOINT_URL", machine.fake.endpoint());
    let mail = b"From: a@example.com\nTo: b@example.net\nSubject: report\n\ndone\n";
    let output = fed(command.args(["-t", "-i", "-f", "a@example.com"]), mail);
    assert_arrived(&machine.call(&output), "a@example.com", &["b@example.net"], "report");
    assert!(machine.gateway.log().is_empty(), "the gateway has no part in it");
}

#[test]
fn phps_mail() {
    let machine = Machine::new();
    const SCRIPT: &str = r#"
$fields = ["From" => "a@example.com", "Cc" => "c@example.net", "Bcc" => "d@example.net", "RT-Ticket" => "7"];
exit(mail("b@example.net", "report", "done\n.\nend", $fields, "-fbounces@example.com") ? 0 : 1);
"#;
    let path = format!("sendmail_path={} -t -i", machine.sendmail().display());
    let output = machine.command("php").args(["-n", "-d", &path, "-r", SCRIPT]).output().unwrap();
    let call = machine.call(&output);
    assert_arrived(&call, "bounces@example.com", &["b@example.net", "c@example.net", "d@example.net"], "report");
    assert_eq!(call.header("X-RT-Ticket"), ["7"]);
    assert_eq!(call.body(), b"done\r\n.\r\nend\r\n");
}

#[test]
fn pythons_subprocess_with_a_message_of_its_own() {
    let machine = Machine::new();
    const SCRIPT: &str = r#"
import subprocess, sys
from email.message import EmailMessage
mail = EmailMessage()
mail["From"], mail["To"] = "Jörg <a@example.com>", "b@example.net, c@example.net"
mail["Bcc"], mail["Subject"] = "d@example.net", "Grüße"
mail.set_content("Füße\n")
sys.exit(subprocess.run([sys.argv[1], "-t", "-oi", "-f", "a@example.com"], input=mail.as_bytes()).returncode)
"#;
    let output = machine.command("python3").arg("-c").arg(SCRIPT).arg(machine.sendmail()).output().unwrap();
    let call = machine.call(&output);
    let recipients = ["b@example.net", "c@example.net", "d@example.net"];
    assert_arrived(&call, "a@example.com", &recipients, "=?utf-8?q?Gr=C3=BC=C3=9Fe?=");
}

#[test]
fn git_send_email() {
    let machine = Machine::new();
    let patch = machine.home("0001.patch");
    let text = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n\
                From: A <a@example.com>\nDate: Tue, 1 Dec 2026 10:00:00 +0000\nSubject: [PATCH] Mend it\n\n\
                ---\n file | 1 +\n\n--- a/file\n+++ b/file\n@@ -0,0 +1 @@\n+.\n-- \n2.39.5\n";
    fs::write(&patch, text).unwrap();
    let mut git = machine.command("git");
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("EMAIL", "a@example.com");
    git.args(["send-email", "--from=A <a@example.com>", "--to=b@example.net"]);
    git.args(["--cc=c@example.net", "--bcc=d@example.net", "--envelope-sender=a@example.com", "--suppress-cc=all"]);
    git.args(["--confirm=never", "--quiet"])
        .arg(format!("--sendmail-cmd={}", machine.sendmail().display()))
        .arg(&patch);
    let call = machine.call(&git.current_dir(machine.home("")).output().unwrap());
    assert_arrived(&call, "a@example.com", &["b@example.net", "c@example.net", "d@example.net"], "[PATCH] Mend it");
    assert_eq!(call.header("To"), ["b@example.net"]);
    assert!(String::from_utf8_lossy(call.body()).contains("\r\n+.\r\n-- \r\n"));
}

#[test]
fn mutt() {
    let machine = Machine::new();
    let settings = machine.home("muttrc");
    let text = format!(
        "set sendmail=\"{} -oem -oi\"\nset from=\"a@example.com\"\nset use_envelope_from\nset write_bcc\nunset record\n",
        machine.sendmail().display()
    );
    fs::write(&settings, text).unwrap();
    let mut mutt = machine.command("mutt");
    mutt.args(["-n", "-F"]).arg(&settings).args(["-s", "report", "-c", "c@example.net", "-b", "d@example.net"]);
    let call = machine.call(&fed(mutt.args(["--", "b@example.net"]), b"done\n.\nend\n"));
    assert_arrived(&call, "a@example.com", &["b@example.net", "c@example.net", "d@example.net"], "report");
    assert_eq!(call.body(), b"done\r\n.\r\nend\r\n");
}

#[test]
fn s_nail() {
    let machine = Machine::new();
    let mut nail = machine.command("s-nail");
    nail.arg(format!("-Smta={}", machine.sendmail().display())).args(["-:/", "-r", "a@example.com"]);
    nail.args(["-s", "report", "-c", "c@example.net", "-b", "d@example.net", "b@example.net"]);
    let call = machine.call(&fed(&mut nail, b"done\n"));
    assert_arrived(&call, "a@example.com", &["b@example.net", "c@example.net", "d@example.net"], "report");
    assert_eq!(call.body(), b"done\r\n");
}
