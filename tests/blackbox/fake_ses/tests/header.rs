//! Header fields that SES refuses, and those it takes.

use super::super::names::ONCE;
use super::super::{FakeSes, Profile};
use super::client::{asked, verdict, verdict_on};

fn with(fields: &str) -> Vec<u8> {
    format!("From: ann@example.com\r\n{fields}\r\nbody\r\n").into_bytes()
}

#[test]
fn each_of_the_sixty_is_taken_once_and_refused_twice() {
    let mut distinct: Vec<String> = ONCE.iter().map(|name| name.to_lowercase()).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 60);
    let fake = FakeSes::start(Profile::Today);
    let mut client = super::client::Client::of(&fake);
    let mut say = |message: &[u8]| client.send(&asked(message)).unwrap();
    for name in ONCE.into_iter().filter(|name| *name != "From") {
        let (once, upper) = (format!("{name}: <a@example.com>\r\n"), name.to_uppercase());
        assert_eq!(say(&with(&once)).status, 200, "{name}");
        let twice = with(&format!("{once}X-Between: 1\r\n{upper}: b@example.com\r\n"));
        let text = format!("Duplicate header '{upper}'.");
        assert_eq!(say(&twice).error(), (400, "BadRequestException", text.as_str()));
    }
    assert_eq!(say(&with("FROM: c@example.com\r\n")).error().2, "Duplicate header 'FROM'.");
}

#[test]
fn other_fields_may_repeat() {
    let repeated =
        "To: a@example.net\r\nTo: b@example.net\r\nReceived: x\r\nReceived: y\r\nChicken: 1\r\nChicken: 2\r\n";
    assert_eq!(verdict_on(&with(repeated)), "");
}

#[test]
fn folded_lines_belong_to_their_field() {
    let folded = "Subject: one\r\n Subject: two\r\n\tFrom: x\r\nX-Last: 1\r\n";
    assert_eq!(verdict_on(&with(folded)), "");
}

#[test]
fn the_header_ends_at_the_first_empty_line() {
    assert_eq!(verdict_on(&with("\r\nFrom: x\r\n: y\r\nno field\r\n")), "");
    assert_eq!(verdict_on(b"From: ann@example.com\r\n"), "");
    assert_eq!(verdict_on(b"From: ann@example.com"), "");
}

#[test]
fn empty_names_are_refused() {
    assert_eq!(verdict_on(&with(": orphan\r\n")), "Empty header names are illegal.");
}

#[test]
fn names_are_printable_ascii() {
    for name in ["To ", "Two words", "T\u{f6}", "\u{7f}", "Tab\t", "<!DOCTYPE html \"-//W3C//DTD"] {
        let text = verdict_on(&with(&format!("{name}: x\r\n")));
        let written = name.split(':').next().unwrap();
        assert_eq!(text, format!("Illegal header '{written}'."));
    }
    assert_eq!(verdict_on(&with("!#$%&'*+-^_`{|}~();/<=>?@[]: x\r\n")), "");
}

#[test]
fn lines_without_a_colon_are_refused() {
    assert_eq!(verdict_on(&with("no colon here\r\n folded: yes\r\n")), "Illegal header 'no colon here'.");
    assert_eq!(verdict_on(&with("none at all\r\n")), "Illegal header 'none at all'.");
    assert_eq!(verdict_on(b" From: ann@example.com\r\n\r\n"), "Illegal header ' From'.");
}

#[test]
fn from_is_required() {
    let missing = "Missing required header 'From'.";
    assert_eq!(verdict_on(b"To: bob@example.net\r\n\r\nbody"), missing);
    assert_eq!(verdict_on(b"From:\r\n\r\nbody"), missing);
    assert_eq!(verdict_on(b"\r\nFrom: ann@example.com\r\n"), missing);
    assert_eq!(verdict_on(b""), missing);
}

#[test]
fn the_addresses_of_from_must_be_good() {
    let from = |value: &str| verdict_on(format!("From: {value}\r\n\r\n").as_bytes());
    for good in [
        "ann@example.com",
        "Ann <ann@example.com>",
        "\"Ann, B. <x>\" <ann@example.com>",
        "ann@example.com (Ann, of (nested \\) x))",
        "a@example.com, B <b@example.com>",
        "team: a@example.com, b@example.com;",
        "=?UTF-8?Q?M=C3=A4h?=\r\n <ann@example.com>",
        "\"odd local\"@example.com",
    ] {
        assert_eq!(from(good), "", "{good}");
    }
    assert_eq!(from("=?utf-8?b?5YiY5LyfIDxzZW5kZXJAZXhhbXBsZS5jb20+?="), "Missing final '@domain'");
    assert_eq!(from("Ada Doe, founder <a@example.com>"), "Local address contains control or whitespace");
    assert_eq!(from("<>"), "Missing final '@domain'");
}

#[test]
fn a_return_path_is_looked_at() {
    let fault = verdict_on(&with("Return-Path: <a@exa_mple.com>\r\n"));
    assert_eq!(fault, "Domain contains illegal character");
    assert_eq!(verdict_on(&with("Return-Path: <>\r\n")), "");
}

#[test]
fn the_ses_of_2011_takes_its_own_names_and_x() {
    let say = |fields: &str| verdict(Profile::Year2011, &asked(&with(fields)));
    assert_eq!(say("Subject: x\r\nthread-index: y\r\nMessage-ID: <a@b>\r\nx-zombies: z\r\nX-: e\r\n"), "");
    for name in ["Chicken", "Authentication-Results", "Delivered-To", "List-Unsubscribe-Post", "Xray"] {
        assert_eq!(say(&format!("{name}: x\r\n")), format!("Illegal header '{name}'."));
        assert_eq!(verdict_on(&with(&format!("{name}: x\r\n"))), "");
    }
    assert_eq!(say("Subject: x\r\nSubject: y\r\n"), "Duplicate header 'Subject'.");
}
