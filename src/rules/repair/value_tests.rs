//! What holds of the repairs of values, whatever a value holds.

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    addresses, encode_header, idn,
    value::{address_fields, list, tests::mended},
};
use crate::{
    header::{self, Header},
    mime::address::{Letters, Mended, check, mend},
};

const ALL: &[&str] = &[addresses::ROW.name, idn::ROW.name, encode_header::ROW.name];
const NAMES: &[&str] =
    &["From", "To", "resent-cc", "Subject", "X-Any", "Received", "List-Id", "Keywords", "List-Help", "Date"];

/// A message of fields with values of any octets, and of pieces that mean something.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..9),
        proptest::string::bytes_regex("[ -~]{0,9}").unwrap(),
        proptest::sample::select(
            &[
                "<a@b.example>",
                "<@r.example:c@b.example> ",
                "a@ü.example",
                "root ",
                "undisclosed-recipients",
                "<",
                ">",
                "\u{a0}",
                "\u{1}",
                ", ",
                "; ",
                ": ",
                "@",
                "=?utf-8?q?",
                "=?x?b?",
                "?=",
                "=C3",
                "é",
                "\"",
                "(",
                ")",
                "\r\n ",
                "\t"
            ][..]
        )
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let value = proptest::collection::vec(piece, 0..9).prop_map(|pieces| {
        let octets = pieces.concat();
        let folded = Header::parse(&Bytes::from([b"X:", &octets[..], b"\r\n"].concat()));
        folded.raw(0).to_vec()
    });
    let field = (proptest::sample::select(NAMES), value);
    let charset = proptest::sample::select(&["utf-8", "koi8-r", "shift_jis", "iso-2022-jp", "utf-7"][..]);
    (proptest::collection::vec(field, 1..4), charset).prop_map(|(fields, charset)| {
        let mut raw = format!("Content-Type: text/plain; charset={charset}\r\n").into_bytes();
        for (name, value) in fields {
            raw.extend([name.as_bytes(), b":", &value, b"\r\n"].concat());
        }
        raw.extend_from_slice(b"\r\nbody \xff\r\n");
        raw
    })
}

fn header_of(raw: &[u8]) -> Header {
    Header::parse(&header::split(&Bytes::copy_from_slice(raw)).head)
}

proptest! {
    #[test]
    fn what_a_repair_made_it_leaves_alone(raw in message()) {
        for repair in ALL {
            if let Ok(once) = mended(&[repair], &raw) {
                prop_assert_eq!(mended(&[repair], &once), Ok(once.clone()), "{} {}", repair, String::from_utf8_lossy(&once));
            }
        }
    }

    #[test]
    fn what_the_repairs_made_together_they_leave_alone(raw in message()) {
        if let Ok(once) = mended(ALL, &raw) {
            prop_assert_eq!(mended(ALL, &once), Ok(once.clone()), "{}", String::from_utf8_lossy(&once));
        }
    }

    #[test]
    fn the_header_is_ascii_and_its_lists_are_right_if_they_could_be_read(raw in message()) {
        let Ok(after) = mended(ALL, &raw) else { return Ok(()) };
        let (before, after) = (header_of(&raw), header_of(&after));
        prop_assert!(after.finish().is_ascii(), "{}", String::from_utf8_lossy(&after.finish()));
        let now: Vec<String> = address_fields(&after).iter().map(|(at, _)| list(&after, *at)).collect();
        let outcomes = address_fields(&before).into_iter().map(|(at, name)| {
            (name, mend(&list(&before, at), Letters::Utf8, Some("relay.example.com")))
        });
        // A From that names nobody is kept for the lint; other empty lists go.
        let kept = outcomes.filter(|(name, outcome)| name == "From" || *outcome != Mended::Empty);
        let kept: Vec<Mended> = kept.map(|(_, outcome)| outcome).collect();
        prop_assert_eq!(kept.len(), now.len());
        for (outcome, list) in kept.iter().zip(now) {
            match outcome {
                Mended::Unreadable => {}
                Mended::Empty => prop_assert_eq!(mend(&list, Letters::Ascii, None), Mended::Empty, "{}", list),
                Mended::Right | Mended::Written(_) => prop_assert!(check(&list, Letters::Ascii).is_ok(), "{}", list),
            }
        }
    }

    #[test]
    fn a_legal_list_keeps_every_octet(names in proptest::collection::vec("[A-Za-z]{1,9}|\"[ -!#-\\[\\]-~]{0,9}\"|=\\?utf-8\\?q\\?=C3=A9\\?=", 1..9)) {
        let list: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("{name} <user{at}@example.com>")).collect();
        let raw = format!("From: {}\r\n\r\nx", list.join(",\r\n\t"));
        prop_assert_eq!(mended(ALL, raw.as_bytes()), Ok(raw.clone().into_bytes()));
    }
}
