//! What is encoded is read back by an independent reader.

use mail_parser::{MessageParser, PartType};
use proptest::prelude::*;

use super::super::tests::{repaired, repaired_octets, untouched};
use crate::header::has_long_line;

fn mended(raw: &str) -> String {
    let mended = repaired("long-lines", raw).unwrap();
    assert!(!has_long_line(mended.as_bytes()), "{mended}");
    assert_eq!(contents(mended.as_bytes()), contents(raw.as_bytes()));
    assert_eq!(repaired("long-lines", &mended).as_deref(), Ok(mended.as_str()), "twice is once");
    mended
}

/// The decoded content of every leaf, at every depth.
fn contents(raw: &[u8]) -> Vec<Vec<u8>> {
    fn add(message: &mail_parser::Message<'_>, all: &mut Vec<Vec<u8>>) {
        for part in &message.parts {
            match &part.body {
                PartType::Text(text) | PartType::Html(text) => all.push(text.as_bytes().to_vec()),
                PartType::Binary(octets) | PartType::InlineBinary(octets) => all.push(octets.to_vec()),
                PartType::Message(inner) => add(inner, all),
                PartType::Multipart(_) => {}
            }
        }
    }
    let mut all = Vec::new();
    if let Some(message) = MessageParser::default().parse(raw) {
        add(&message, &mut all);
    }
    all
}

/// A line of 1200 characters.
fn long() -> String {
    "0123456789 .".repeat(100)
}

#[test]
fn a_text_without_mime_becomes_quoted_printable() {
    let text = mended(&format!("From: a@example.com\r\n\r\n.\r\n{}\r\nthe end", long()));
    assert!(text.starts_with(
        "From: a@example.com\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\r\n=2E\r\n0123"
    ));
    assert!(text.ends_with(".\r\nthe end") && text.lines().all(|line| line.len() <= 76));
    assert!(mended(&format!("A: b\r\n\r\né {}", long())).contains("charset=utf-8\r\n"));
    let latin = [b"A: b\r\n\r\n\xe9 ", long().as_bytes()].concat();
    let octets = repaired_octets("long-lines", &latin).unwrap();
    assert!(octets.windows(20).any(|window| window == b"charset=unknown-8bit"));
    assert!(octets.windows(3).any(|window| window == b"=E9"));
}

#[test]
fn the_part_with_the_line_is_encoded_and_its_siblings_are_not() {
    let raw = format!(
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\ncontent-transfer-encoding: \
         8bit\r\nX: y\r\n\r\n<p>é</p>{}\r\n\r\n--b\r\n\r\nshort é \r\n--b--\r\n",
        long()
    );
    let text = mended(&raw);
    assert!(
        text.contains("charset=utf-8\r\ncontent-transfer-encoding: quoted-printable\r\nX: y\r\n\r\n<p>=C3=A9</p>0123")
    );
    assert!(text.ends_with(".\r\n\r\n--b\r\n\r\nshort é \r\n--b--\r\n"));
}

#[test]
fn what_is_no_text_becomes_base64() {
    let text = mended(&format!("Content-Type: application/json\r\nMIME-Version: 1.0\r\n\r\n{}\r\n", long()));
    assert!(text.contains("\r\nContent-Transfer-Encoding: base64\r\n\r\nMDEy") && text.ends_with("\r\n"));
    let text = mended(&format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{}", "日本".repeat(300)));
    assert!(text.contains("base64"));
}

#[test]
fn an_encoding_gets_shorter_lines() {
    let text = mended(&format!("Content-Transfer-Encoding: base64\r\n\r\nQUJD\r\n{}\r\n", "QUJD".repeat(400)));
    assert!(text.starts_with("Content-Transfer-Encoding: base64\r\n\r\nQUJD\r\nQUJDQUJD"));
    let text =
        mended(&format!("Content-Transfer-Encoding: quoted-printable\r\n\r\na=\r\n{}\r\n", "=C3=A9 ".repeat(400)));
    assert!(text.starts_with("Content-Transfer-Encoding: quoted-printable\r\n\r\na=\r\n=C3=A9 =C3=A9"));
}

#[test]
fn a_message_within_is_never_encoded_itself() {
    let raw = format!(
        "Content-Type: message/rfc822\r\n\r\nTo: {}\r\n\r\n{}\r\n",
        vec!["a@example.com"; 100].join(", "),
        long()
    );
    let text = mended(&raw);
    assert!(text.starts_with("Content-Type: message/rfc822\r\n\r\nTo: a@example.com, a@"));
    assert!(text.contains(
        "example.com\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\nContent-Transfer"
    ));
}

#[test]
fn lines_around_the_parts_are_broken() {
    let around = "-".repeat(2000);
    let raw = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{around}\r\n--b\r\n\r\nx\r\n--b--\r\n{around}");
    let text = mended(&raw);
    assert_eq!(text.replace("\r\n -", "-"), raw);
}

#[test]
fn fields_are_folded_in_every_header() {
    let subject = "word ".repeat(300);
    let raw = format!(
        "Subject: {subject}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Description: {subject}\r\n\r\nx\r\n--b--\r\n"
    );
    assert_eq!(mended(&raw).replace("\r\n ", " "), raw);
}

#[test]
fn a_message_without_long_lines_is_left_alone() {
    untouched("long-lines", &format!("Subject: {}\r\n\r\n{}\n\0", "x".repeat(989), "y".repeat(998)));
}

#[test]
fn what_may_not_be_encoded_is_left_to_the_lint() {
    for head in [
        "Content-Transfer-Encoding: x-uuencode",
        "Content-Type: message/delivery-status",
        "Content-Type: multipart/mixed",
        "Content-Type: text/plain\r\nContent-Type: text/html",
        "Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain",
        "no field",
    ] {
        untouched("long-lines", &format!("{head}\r\n\r\n{}\r\n--b--\r\n", long()));
    }
    untouched("long-lines", &format!("Content-Transfer-Encoding: base64\r\n\r\n{}\r\n", long()));
    untouched("long-lines", &format!("Return-Path: <{}@example.com>\r\n\r\nx\r\n", "x".repeat(1000)));
}

const PIECES: &[&str] = &[
    "--a\r\n",
    "--a--\r\n",
    "--b\r\n",
    "\r\n",
    "word\r\n",
    "  \r\n",
    "--a",
    "Subject: x\r\n",
    "Content-Type: multipart/mixed; boundary=b\r\n",
    "Content-Type: message/rfc822\r\n",
    "Content-Type: text/plain; charset=utf-8\r\n",
    "Content-Type: application/x\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "Content-Transfer-Encoding: quoted-printable\r\n",
    "é=C3",
    "QUJD",
    "From: ",
    "\0",
];

/// A multipart with everything in it.
fn raw() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => (0..PIECES.len()).prop_map(|piece| PIECES[piece].to_owned()),
        1 => "[ -~]{1,4}".prop_map(|text| text.repeat(400)),
        1 => Just("QUJD".repeat(300)),
    ];
    let pieces = proptest::collection::vec(piece, 0..30);
    pieces.prop_map(|pieces| "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n".to_owned() + &pieces.concat())
}

proptest! {
    #[test]
    fn long_lines_are_mended_or_stay_as_they_are(raw in raw()) {
        let mended = repaired("long-lines", &raw).unwrap();
        for line in mended.split("\r\n").filter(|line| line.len() > 998) {
            prop_assert!(raw.split("\r\n").any(|known| known == line));
        }
        prop_assert_eq!(repaired("long-lines", &mended).unwrap(), mended.as_str());
        if !raw.split("\r\n").any(|line| line.len() > 998) {
            prop_assert_eq!(&mended, &raw);
        }
    }

    #[test]
    fn leaves_decode_to_the_same_octets(bodies in proptest::collection::vec(("([ -~é\t]{0,9}\r\n){0,3}[ -~é]{1,4}", 1..400_usize, 0..4_usize), 1..4)) {
        let encodings = ["7bit", "8bit", "x", "binary"];
        let parts = bodies.iter().map(|(text, times, encoding)| {
            let encoding = match encodings[*encoding] { "x" => String::new(), known => format!("Content-Transfer-Encoding: {known}\r\n") };
            format!("--a\r\nContent-Type: text/plain; charset=utf-8\r\n{encoding}\r\n{}\r\n", text.repeat(*times))
        });
        let raw = format!("Content-Type: multipart/mixed; boundary=a\r\n\r\n{}--a--\r\n", parts.collect::<String>());
        let mended = repaired("long-lines", &raw).unwrap();
        prop_assert!(!has_long_line(mended.as_bytes()));
        prop_assert_eq!(contents(mended.as_bytes()), contents(raw.as_bytes()));
        prop_assert_eq!(repaired("long-lines", &mended).unwrap(), mended);
    }

    #[test]
    fn nul_and_parameters_applied_twice_are_applied_once(raw in raw()) {
        for name in ["parameters", "nul"] {
            let once = repaired(name, &raw).unwrap();
            prop_assert_eq!(repaired(name, &once).unwrap(), once, "{}", name);
        }
    }

    #[test]
    fn no_octets_end_the_repairs(body in proptest::collection::vec(any::<u8>(), 0..300), twice in 1..9_usize) {
        let raw = [b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n", body.repeat(twice).as_slice()].concat();
        for name in ["parameters", "long-lines", "nul"] {
            let once = repaired_octets(name, &raw).unwrap();
            prop_assert_eq!(repaired_octets(name, &once).unwrap(), once, "{}", name);
        }
    }
}
