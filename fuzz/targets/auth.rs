//! The exchange of a login (RFC 4954, RFC 4616): lines of a client behind AUTH, against a second reading of them.
//!
//! The first octet chooses the mechanism and whether its first message comes with the command; the lines that follow are
//! given in base64 that may be whole or broken, or as they are. What the session hands over to be checked is what the
//! lines say, to the octet, and nothing when they say nothing whole; no `Debug` shows a password.

#![no_main]

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use headgate::{
    mail::{Client, Id, Secret},
    smtp::{Login, LoginEnd, Logins, Next, Offer, Session, Step},
};
use libfuzzer_sys::fuzz_target;

/// Octets that stand for the end of a line in the input.
const END: u8 = 0xff;

fuzz_target!(|octets: &[u8]| {
    let Some((seed, octets)) = octets.split_first() else { return };
    let set = |bit: u8| seed >> bit & 1 == 1;
    let mut lines = octets.split(|octet| *octet == END).map(|line| written(line, set(0)));
    let mut session = session(set(1));
    let mechanism = if set(2) { "PLAIN" } else { "LOGIN" };
    let (mut said, mut step) = (Vec::new(), None);
    if set(3) {
        let initial = lines.next().unwrap_or_default();
        // What a command line cannot hold, or would hold as another word, is not an initial response.
        if !initial.is_empty() && initial.iter().all(u8::is_ascii_graphic) {
            let empty = initial == b"=";
            step = Some(session.line(&[b"auth ", mechanism.as_bytes(), b" ", &initial].concat()));
            said.push(if empty { Vec::new() } else { initial });
        }
    }
    let mut step = step.unwrap_or_else(|| session.line(format!("AUTH {mechanism}").as_bytes()));
    while let (Some(334), Next::Command) = (step.reply.as_ref().map(|reply| reply.code()), &step.next) {
        let Some(line) = lines.next() else { return };
        said.push(line.clone());
        step = session.line(&line);
    }
    judge(step, &mut session, expected(mechanism, &said));
    assert!(matches!(session.line(b"NOOP").reply.map(|reply| reply.code()), Some(250)), "the exchange is over");
});

/// A line as the client writes it: in base64, or as it is, without what would end it.
fn written(line: &[u8], encoded: bool) -> Vec<u8> {
    match line.split_first() {
        // One line of many is not encoded, so that cancelling and broken base64 stand beside whole lines.
        Some((b'*', rest)) if rest.is_empty() => b"*".to_vec(),
        Some((b'!', rest)) => rest.iter().copied().filter(|octet| !b"\r\n".contains(octet)).collect(),
        _ if encoded => STANDARD.encode(line).into_bytes(),
        _ => line.iter().copied().filter(|octet| !b"\r\n".contains(octet)).collect(),
    }
}

fn session(loopback: bool) -> Session {
    let hostname = "relay.example.com".to_owned();
    let offer = Offer {
        hostname,
        message_size: 1000,
        recipients: 3,
        errors: 9,
        logins: Logins::Required,
        starttls: false,
        lmtp: false,
        dsn: false,
        allow: Vec::new(),
        trusted: Vec::new(),
    };
    let mut client = Client::new(if loopback { [127, 0, 0, 1] } else { [192, 0, 2, 1] }.into(), "smtp");
    client.tls = (!loopback).then(|| "TLSv1.3".into());
    let mut session = Session::new(Arc::new(offer), client, false, Id::nil);
    session.line(b"EHLO client.example.org");
    session
}

/// What an exchange says: a name, a password, and whether somebody else is meant. A second reading, kept simple.
fn expected(mechanism: &str, said: &[Vec<u8>]) -> Option<(String, String, bool)> {
    let texts: Option<Vec<String>> = said.iter().map(|line| decoded(line)).collect();
    let (identity, name, password) = match (mechanism, texts?.as_slice()) {
        ("PLAIN", [text]) => {
            let mut parts = text.splitn(3, '\0').map(str::to_owned);
            (parts.next()?, parts.next()?, parts.next()?)
        }
        ("LOGIN", [name, password]) => (String::new(), name.clone(), password.clone()),
        _ => return None,
    };
    let is_name = !name.is_empty() && !name.chars().any(|one| one.is_control() || one.is_whitespace());
    let another = !identity.is_empty() && identity != name;
    (is_name && !password.contains('\0')).then_some((name, password, another))
}

/// Base64 of the standard alphabet, padded, with no bit over, that holds UTF-8.
fn decoded(line: &[u8]) -> Option<String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bare = line.strip_suffix(b"==").or_else(|| line.strip_suffix(b"=")).unwrap_or(line);
    if line.len() % 4 != 0 || line == b"==" {
        return None;
    }
    let (mut octets, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in bare {
        bits = bits << 6 | ALPHABET.iter().position(|one| one == letter)? as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            octets.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    if bits != 0 || held >= 6 || line.len() - bare.len() != held as usize / 2 {
        return None;
    }
    String::from_utf8(octets).ok()
}

fn judge(step: Step, session: &mut Session, expected: Option<(String, String, bool)>) {
    let (shown, held) = (format!("{step:?}"), format!("{session:?}"));
    let Next::Login(login) = step.next else {
        assert!(expected.is_none(), "{expected:?} was not handed over");
        assert!(step.reply.is_some_and(|reply| matches!(reply.code(), 501 | 535)));
        assert!(session.client().login.is_none());
        return;
    };
    let Login { name, password, as_another } = *login;
    assert_eq!(Some((name.clone(), password.reveal().to_owned(), as_another)), expected);
    let other = Login { name: name.clone(), password: Secret::new("another"), as_another };
    if !password.is_empty() {
        assert_eq!(
            shown,
            format!("{:?}", Step { next: Next::Login(Box::new(other)), ..step }),
            "Debug tells a password"
        );
    }
    let fresh = self::session(session.client().address.is_loopback());
    assert_eq!(held, format!("{fresh:?}"), "the session keeps something");
    let reply = session.login(name.clone(), as_another, LoginEnd::Right).reply.expect("a login has an answer");
    assert_eq!(reply.code(), if as_another { 535 } else { 235 });
    assert_eq!(session.client().login, (!as_another).then_some(name));
}
