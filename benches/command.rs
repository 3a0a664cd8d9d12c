//! What one `headgate send -r` costs beside the start of the Perl that the script needed, by turns.
//!
//! `make command` runs it: `command [--runs N]`. The processor time is that of finished children; the memory is the peak of
//! one that waits for SES's answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench that cannot run ends")]

#[allow(unused_imports, reason = "its own tests are compiled, and not run, here")]
#[path = "../tests/blackbox/fake_ses/mod.rs"]
mod fake_ses;
#[allow(unused_imports, reason = "as above")]
#[path = "../tests/blackbox/parties/mod.rs"]
mod parties;

use std::{
    fs,
    io::Write as _,
    process::{Child, Command, Stdio},
    time::Duration,
};

use fake_ses::{Answer, FakeSes, Profile};

const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runs = arguments.iter().position(|one| one == "--runs").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let runs: u32 = runs.unwrap_or(100);
    let fake = FakeSes::start(Profile::Today);
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    fs::write(&credentials, "AWSAccessKeyId=AKIDEXAMPLE\nAWSSecretKey=x\n").unwrap();
    let head = "From: a@example.com\nTo: b@example.net\nSubject: s\nMIME-Version: 1.0\nContent-Type: text/plain\n\n";
    let mail = format!("{head}{}", "A line of a message that is not long.\n".repeat(104));
    let send = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headgate"));
        command.args(["send", "-r", "-k"]).arg(&credentials).args(["-e", &fake.endpoint(), "-f", "a@example.com"]);
        command.arg("b@example.net").env_clear();
        start(command, mail.as_bytes())
    };
    let perl = || {
        let mut command = Command::new("perl");
        command.args(["-e", "use LWP::UserAgent"]);
        start(command, b"")
    };
    let (mut ours, mut theirs) = (0, 0);
    for _ in 0..runs {
        ours += ticks_of(|| assert!(send().wait().unwrap().success()));
        theirs += ticks_of(|| assert!(perl().wait().unwrap().success(), "perl has no LWP: scripts/install bench"));
    }
    // Linux counts the time of processes in hundredths of a second (USER_HZ).
    let each = |ticks: u64| 10.0 * ticks as f64 / f64::from(runs);
    println!("{runs} runs by turns, a message of {} octets; milliseconds of processor each", mail.len());
    println!("  headgate send -r           {:6.1}", each(ours));
    println!("  perl -e 'use LWP::UserAgent' {:4.1}", each(theirs));
    println!("  ratio                      {:6.2}   (wanted: at most 0.50)", ours as f64 / theirs as f64);
    fake.otherwise(Answer::Hang);
    let mut child = send();
    assert!(fake.wait_for_calls(u64::from(runs) + 1, PATIENCE));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    println!("  peak of its memory       {peak}   (wanted: under 40 MB)");
    let _ = child.kill();
    let _ = child.wait();
}

fn start(mut command: Command, input: &[u8]) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child
}

/// Processor time that children took in it, in hundredths of a second: fields 16 and 17 of proc(5)'s stat.
fn ticks_of(work: impl FnOnce()) -> u64 {
    let now = || {
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let behind = stat.rsplit_once(')').unwrap().1;
        behind.split_whitespace().skip(13).take(2).map(|field| field.parse::<u64>().unwrap()).sum::<u64>()
    };
    let before = now();
    work();
    now() - before
}
