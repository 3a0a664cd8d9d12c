//! The messages with which others test their readers of mail: CPython's `email` package and the crate mail-parser.
//!
//! Each goes through the default rules as a client would send it. It is taken, or refused for a reason that is listed
//! here with its cause; SES takes what was taken; and every part decodes to what it decoded to before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "proofs/door.rs"]
#[allow(dead_code, reason = "the properties use more of it")]
mod door;
#[path = "blackbox/fake_ses/mod.rs"]
mod fake_ses;
#[path = "proofs/leaves.rs"]
#[allow(dead_code, reason = "the properties use more of it")]
mod leaves;
#[path = "proofs/octets.rs"]
#[allow(dead_code, reason = "the properties use more of it")]
mod octets;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use self::{door::Door, fake_ses::Profile, leaves::leaves};

/// What may be refused: the file, a word of the reason, and why that is right.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "data/msg_33.txt",
        "boundary*",
        "RFC 2231 allows no extended boundary, and nobody mends one: it delimits the parts",
    ),
    ("data/msg_43.txt", "Missing local name", "From: MAILER DAEMON <>, a copied bounce without an address"),
    ("rfc/001.eml", "Missing final '@domain'", "From: Whomever, which stands for an address in the RFC's example"),
    ("rfc/004.eml", "Missing final '@domain'", "From: Moderator-Address, which stands for one too"),
];

/// Files whose first line of text stood in the header, for want of an empty line; now it is read as the body's.
const UNCUT: &[&str] = &["data/msg_19.txt", "data/msg_35.txt"];

/// What is said to a message, with the files that are wrong about it.
#[derive(Default)]
struct Report {
    taken: usize,
    refused: usize,
    faults: Vec<String>,
}

impl Report {
    fn end(self, least: usize) {
        assert!(self.taken + self.refused >= least, "only {} messages", self.taken + self.refused);
        assert!(
            self.faults.is_empty(),
            "{} of {} messages:\n{}",
            self.faults.len(),
            self.taken + self.refused,
            self.faults.join("\n")
        );
    }
}

/// All files below a folder whose names end so, in their order.
fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if path.to_string_lossy().ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn check(report: &mut Report, path: &Path) {
    let raw = octets::with_crlf(&fs::read(path).unwrap());
    let name = path.components().rev().take(2).map(|one| one.as_os_str().to_string_lossy()).collect::<Vec<_>>();
    let name = name.into_iter().rev().collect::<Vec<_>>().join("/");
    let door = Door::of((&["rt", "ses"], Profile::Today));
    let listed = REFUSED.iter().find(|(file, ..)| *file == name);
    let (_, result) = door.prepare(&raw);
    let accepted = match (result, listed) {
        (Ok(accepted), None) => accepted,
        (Err(refusal), Some((_, word, _))) if refusal.reason.contains(word) => {
            report.refused += 1;
            return;
        }
        (Err(refusal), _) => {
            report.refused += 1;
            return report.faults.push(format!("{name}: refused: {}", refusal.reason));
        }
        (Ok(_), Some(_)) => return report.faults.push(format!("{name}: is listed as refused, and is taken")),
    };
    report.taken += 1;
    if let Some(refusal) = door.judge(&accepted) {
        report.faults.push(format!("{name}: SES refuses what we took: {}", refusal.message));
    }
    let (before, after) = (leaves(&raw), leaves(&accepted.message.to_bytes()));
    let uncut = UNCUT.contains(&name.as_str()) && before.len() == after.len();
    let gained = before.iter().zip(&after).all(|(one, other)| other.len() > one.len() && other.ends_with(one));
    if before != after && !(uncut && gained) {
        let differs = before.iter().zip(&after).position(|(one, other)| one != other);
        let part = |leaves: &[Vec<u8>]| {
            differs.and_then(|at| leaves.get(at)).map(|leaf| octets::shown(leaf.get(..300).unwrap_or(leaf)))
        };
        report.faults.push(format!(
            "{name}: {} parts became {}: {:?} to {:?}",
            before.len(),
            after.len(),
            part(&before),
            part(&after)
        ));
    }
}

fn checked(files: Vec<PathBuf>) -> Report {
    let mut report = Report::default();
    files.iter().for_each(|path| check(&mut report, path));
    report
}

/// Where CPython keeps its test messages: as Debian packages them, else beside the interpreter.
fn cpython() -> PathBuf {
    let debian = PathBuf::from("/usr/lib/python3.11/test/test_email/data");
    if debian.is_dir() {
        return debian;
    }
    let script = "import test.test_email, os; print(os.path.dirname(test.test_email.__file__))";
    let ran = Command::new("python3").args(["-c", script]).output();
    let printed = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned()).unwrap_or_default();
    let folder = Path::new(&printed).join("data");
    assert!(
        !printed.is_empty() && folder.is_dir(),
        "CPython's test messages are not here; scripts/install test installs them"
    );
    folder
}

/// The platform that this is built on.
fn host() -> String {
    let ran = Command::new("rustc").arg("-vV").current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// The folder of the crate mail-parser, which ships its test messages. Crates for other platforms are not asked about: a
/// machine that has only built this does not have them.
fn mail_parser() -> PathBuf {
    let host = host();
    let arguments = ["metadata", "--offline", "--format-version", "1", "--filter-platform", &host];
    let ran = Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "mail-parser").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().join("resources")
}

#[test]
fn the_messages_of_cpython_pass_unharmed() {
    checked(files(&cpython(), ".txt")).end(40);
}

#[test]
fn the_messages_of_mail_parser_pass_unharmed() {
    checked(files(&mail_parser(), ".eml")).end(100);
}
