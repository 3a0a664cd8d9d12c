//! What holds of every message whatever it holds, as properties over arbitrary octets and over plausible broken mail.
//!
//! A message goes through the door with a shipped set of rules and a lint that refuses. Then it was refused, or the
//! strict fake of SES takes it; what the trace names no change of is there octet for octet; a second run changes
//! nothing. `PROPTEST_CASES` raises the number of cases; a failing input is kept as a seed beside this file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "proofs/broken.rs"]
mod broken;
#[path = "proofs/door.rs"]
mod door;
#[path = "blackbox/fake_ses/mod.rs"]
mod fake_ses;
#[path = "proofs/found.rs"]
mod found;
#[path = "proofs/kept.rs"]
mod kept;
#[path = "proofs/leaves.rs"]
#[allow(dead_code, reason = "the corpora use more of it")]
mod leaves;
#[path = "proofs/octets.rs"]
mod octets;
#[path = "proofs/reports.rs"]
mod reports;

use bytes::Bytes;
use proptest::{
    prelude::*,
    test_runner::{Config, FileFailurePersistence, TestCaseError},
};

use self::{
    broken::{Raw, arbitrary, plausible},
    door::Door,
    fake_ses::Profile,
};

const TODAY: (&[&str], Profile) = (&["rt", "ses"], Profile::Today);
const YEAR_2011: (&[&str], Profile) = (&["ses-2011"], Profile::Year2011);
/// Rules that mend too little for a message to be taken; what they make they leave alone too.
const MINIMAL: (&[&str], Profile) = (&["ses-minimal"], Profile::Today);

/// So many cases, unless the environment asks for another number.
fn cases(number: u32) -> Config {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..Config::default()
    };
    if asked { config } else { Config { cases: number, ..config } }
}

/// All that has to hold of one message.
fn holds(door: &Door, raw: &[u8]) -> Result<(), TestCaseError> {
    settles(door, raw)?;
    let (story, result) = door.prepare(raw);
    // A refusal is an answer; it is only never to be the fake that gives it.
    let Ok(accepted) = result else { return Ok(()) };
    let message = accepted.message.to_bytes();
    let verdict = door.judge(&accepted);
    prop_assert!(verdict.is_none(), "SES refuses what we took: {:?}\n{}", verdict, octets::shown(&message));
    traced(raw, &accepted.message.head)?;
    well_formed(&message)?;
    kept::check(raw, &accepted.message, &story.trace).map_err(|why| {
        TestCaseError::fail(format!("{why}\nbecame\n{}\n{:#?}", octets::shown(&message), story.trace.changes))
    })
}

/// What the rules made they leave alone.
fn settles(door: &Door, raw: &[u8]) -> Result<(), TestCaseError> {
    let Some(once) = door.ruled(raw) else { return Ok(()) };
    let twice = door.ruled(&once);
    let same = twice.as_deref() == Some(&once[..]);
    let shown = twice.map(|twice| octets::shown(&twice)).unwrap_or_default();
    prop_assert!(same, "a second run changes\n{}\nto\n{}", octets::shown(&once), shown);
    Ok(())
}

/// One Received more than the message came with, ours before all else, and none of the others lost.
fn traced(raw: &[u8], head: &[u8]) -> Result<(), TestCaseError> {
    let fields = octets::fields(head);
    prop_assert!(fields.first().is_some_and(|first| first.starts_with(b"Received: from ")));
    let after = fields.iter().filter(|field| octets::is_named(field, "Received")).count();
    let before = octets::hops(raw);
    prop_assert!(after == before + 1, "{} Received fields became {}:\n{}", before, after, octets::shown(head));
    Ok(())
}

/// No Bcc, no lone CR or LF, no NUL in the header and nothing that is not ASCII, no long line.
///
/// The fields of MIME keep parameters that are not ASCII where nobody could write them (a boundary is in the body too).
fn well_formed(message: &[u8]) -> Result<(), TestCaseError> {
    let (head, _) = octets::split(message);
    let fields = octets::fields(head);
    prop_assert!(!fields.iter().any(|field| octets::is_named(field, "Bcc")), "{}", octets::shown(head));
    prop_assert!(!head.contains(&0), "NUL: {}", octets::shown(head));
    let of_mime =
        |field: &Vec<u8>| ["Content-Type", "Content-Disposition"].iter().any(|name| octets::is_named(field, name));
    let foreign = fields.iter().find(|field| !field.is_ascii() && !of_mime(field));
    prop_assert!(foreign.is_none(), "not ASCII: {}", octets::shown(head));
    for line in message.split_inclusive(|octet| *octet == b'\n') {
        let text = line.strip_suffix(b"\r\n").unwrap_or(line);
        prop_assert!(text.len() <= 998, "{} octets", text.len());
        prop_assert!(!text.contains(&b'\r') && !text.contains(&b'\n'), "{}", octets::shown(line));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn arbitrary_octets_today(Raw(raw) in arbitrary()) {
        holds(&Door::of(TODAY), &raw)?;
    }

    #[test]
    fn arbitrary_octets_in_2011(Raw(raw) in arbitrary()) {
        holds(&Door::of(YEAR_2011), &raw)?;
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn plausible_broken_mail_today(Raw(raw) in plausible()) {
        holds(&Door::of(TODAY), &raw)?;
    }

    #[test]
    fn plausible_broken_mail_in_2011(Raw(raw) in plausible()) {
        holds(&Door::of(YEAR_2011), &raw)?;
    }
}

/// The rules do not copy a body that needs no repair: what leaves lies where it came in.
#[test]
fn a_large_body_that_needs_no_repair_is_not_copied() {
    let line = format!("{}\r\n", "A".repeat(76));
    let text = format!("{}\r\n", "x".repeat(76)).repeat(10_000_000 / 78);
    let raw = Bytes::from(format!(
        "From: a@example.com\r\nSubject: Pr\u{fc}fung\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--b\r\n\
         Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n--b--\r\n",
        line.repeat(10_000_000 / line.len())
    ));
    let (story, result) = Door::of(TODAY).prepare_bytes(raw.clone());
    let rest = result.unwrap().message.rest;
    assert_eq!(story.trace.changes.iter().map(|change| change.field.as_str()).collect::<Vec<_>>(), ["Subject"]);
    assert_eq!(rest.as_ptr_range().end, raw.as_ptr_range().end);
    assert!(rest.len() > 19_900_000);
}
