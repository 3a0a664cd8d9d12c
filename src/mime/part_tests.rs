//! The walker on messages as they are, and on ones made to trip it.

use mail_parser::{MessageParser, PartType};
use proptest::prelude::*;

use super::*;

fn walked(raw: &str) -> (Parts, Bytes) {
    let message = header::split(&Bytes::from(raw.to_owned()));
    (Parts::of(&Header::parse(&message.head), &message.rest), message.rest)
}

/// Each part with its number, type and body.
fn found(raw: &str) -> Vec<(String, String, String)> {
    let (parts, rest) = walked(raw);
    let shown = |index: usize, part: &Part| {
        let body = String::from_utf8_lossy(&rest[part.body.clone()]).into_owned();
        let body = if part.shape == Shape::Leaf {
            body
        } else {
            format!("{:?}", part.shape).split(' ').next().unwrap().to_owned()
        };
        (parts.number(index), part.media_type.clone(), body)
    };
    parts.list.iter().enumerate().map(|(index, part)| shown(index, part)).collect()
}

fn row(number: &str, media_type: &str, body: &str) -> (String, String, String) {
    (number.to_owned(), media_type.to_owned(), body.to_owned())
}

#[test]
fn a_message_without_parts_is_its_own_leaf() {
    assert_eq!(found("A: b\r\n\r\nhi\r\n"), [row("", "text/plain", "hi\r\n")]);
    assert_eq!(found("A: b"), [row("", "text/plain", "")]);
    assert_eq!(found("Content-Type: Text/HTML;\r\n\r\nhi"), [row("", "text/html", "hi")]);
}

#[test]
fn what_is_one_part_by_the_beginning_of_its_type_has_no_other() {
    let multipart = "multipart/mixed; boundary=text";
    let types =
        ["text/plain", "\r\n TEXT/; boundary=text", "text / multipart; boundary=text", "boundary=text/", multipart];
    let fields = types.map(|one| format!("Content-Type: {one}\r\n"));
    let several = format!("{}{}", fields[0], fields[4]);
    let folded = fields[4].replace("mixed", "\r\n text/");
    for header in fields.iter().chain([&several, &folded, &"A: b\r\n".to_owned()]) {
        let raw = format!("{header}\r\n--text\r\n\r\nx\r\n--text--\r\n");
        let head = Header::parse(&header::split(&Bytes::from(raw.clone())).head);
        assert!(!Parts::are_one(&head) || walked(&raw).0.list.len() == 1, "{header:?}");
    }
    let are_one = fields.each_ref().map(|field| Parts::are_one(&Header::parse(&Bytes::from(field.clone()))));
    assert_eq!(are_one, [true, true, false, false, false]);
}

#[test]
fn parts_are_found_at_every_depth() {
    let raw = "Content-Type: multipart/mixed; boundary=a\r\n\r\npreamble\r\n--a\r\n\r\none\r\n--a\r\nContent-Type: \
               multipart/alternative;\r\n boundary=\"a1\"\r\n\r\n--a1\r\nContent-Type: text/html\r\n\r\ntwo\r\n\r\n--a1--\r\n--a\r\n\
               Content-Type: message/rfc822\r\n\r\nFrom: x\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nthree\r\n--c--\r\n--a--\r\nepilogue\r\n";
    assert_eq!(
        found(raw),
        [
            row("", "multipart/mixed", "Multipart"),
            row("1", "text/plain", "one"),
            row("2", "multipart/alternative", "Multipart"),
            row("2.1", "text/html", "two\r\n"),
            row("3", "message/rfc822", "Message"),
            row("3", "multipart/mixed", "Multipart"),
            row("3.1", "text/plain", "three"),
        ]
    );
    let (parts, rest) = walked(raw);
    let Shape::Multipart { preamble, epilogue } = &parts.list[0].shape else { panic!() };
    assert_eq!(&rest[preamble.clone()], b"preamble\r\n");
    assert_eq!(&rest[epilogue.clone()], b"epilogue\r\n");
    assert!(parts.is_message(0) && parts.is_message(5) && !parts.is_message(4));
    assert_eq!(&rest[parts.list[2].header.clone()], b"Content-Type: multipart/alternative;\r\n boundary=\"a1\"\r\n");
}

#[test]
fn a_missing_end_is_the_end_of_what_is_around() {
    let raw = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\none\r\n--a\r\n\r\ntwo\r\n";
    assert_eq!(found(raw)[2..], [row("1.1", "text/plain", "one"), row("2", "text/plain", "two\r\n")]);
    let raw = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n--a\r\nContent-Type: text/html\r\n--a--";
    assert_eq!(found(raw)[1..], [row("1", "text/plain", ""), row("2", "text/html", "")]);
}

#[test]
fn what_is_not_understood_is_opaque() {
    for head in [
        "Content-Type: multipart/mixed",
        "Content-Type: multipart/mixed; boundary=b",
        "Content-Type: multipart/mixed; boundary=\"\"",
        "Content-Type: message/delivery-status",
        "Content-Type: text/plain\r\nContent-Type: text/html",
        "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64",
    ] {
        let (parts, _) = walked(&format!("{head}\r\n\r\n--a\r\n\r\nx\r\n--a--\r\n"));
        assert_eq!(parts.list.len(), 1, "{head}");
        assert_eq!(parts.list[0].shape, Shape::Opaque, "{head}");
    }
    let (parts, _) =
        walked("Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\nRnJvbTogeA0K\r\n");
    assert_eq!(parts.list[0].shape, Shape::Leaf);
}

#[test]
fn a_digest_holds_messages_and_a_signature_seals() {
    let raw = "Content-Type: multipart/digest; boundary=a\r\n\r\n--a\r\n\r\nFrom: x\r\n\r\none\r\n--a--\r\n";
    assert_eq!(found(raw)[1..], [row("1", "message/rfc822", "Message"), row("1", "text/plain", "one")]);
    let raw = "Content-Type: multipart/signed; boundary=a\r\n\r\n--a\r\nContent-Type: message/rfc822\r\n\r\n\r\nx\r\n--a--\r\n";
    let (parts, _) = walked(raw);
    assert_eq!(parts.list.iter().map(|part| part.sealed).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn depth_and_number_are_bounded() {
    let mut raw = String::new();
    for depth in 0..100 {
        raw += &format!("Content-Type: multipart/mixed; boundary=b{depth}\r\n\r\n--b{depth}\r\n");
    }
    let (parts, _) = walked(&raw);
    assert_eq!((parts.list.len(), parts.complete), (DEPTH + 1, true));
    assert_eq!(parts.list[DEPTH].shape, Shape::Opaque);
    let (parts, _) =
        walked(&format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{}", "--b\r\n\r\nx\r\n".repeat(5000)));
    assert_eq!((parts.list.len(), parts.complete), (PARTS, false));
}

#[test]
fn boundary_like_lines_take_linear_time() {
    for line in [
        "--b",
        "--b \tx",
        "--b--x\r\n",
        "--\r\n",
        "--b1\r\n",
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n",
    ] {
        walked(&format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{}", line.repeat(500_000)));
    }
}

const PIECES: &[&str] = &[
    "--a\r\n",
    "--a--\r\n",
    "--b\r\n",
    "--b--\r\n",
    "\r\n",
    "\n",
    "\r",
    "x\r\n",
    "Content-Type: multipart/mixed; boundary=a\r\n",
    "Content-Type: multipart/mixed; boundary=b\r\n",
    "Content-Type: message/rfc822\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "y",
];

fn pieces() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(0..PIECES.len(), 0..30);
    pieces.prop_map(|pieces| PIECES[8].to_owned() + &pieces.iter().map(|piece| PIECES[*piece]).collect::<String>())
}

proptest! {
    #[test]
    fn spans_lie_in_order_and_within_each_other(raw in pieces()) {
        let (parts, rest) = walked(&raw);
        for (index, part) in parts.list.iter().enumerate() {
            prop_assert!(part.header.end <= part.body.start && part.body.start <= part.body.end && part.body.end <= rest.len());
            if let Some(parent) = part.parent.map(|parent| &parts.list[parent]) {
                prop_assert!(part.parent < Some(index));
                prop_assert!(parent.body.start <= part.header.start && part.body.end <= parent.body.end);
            }
        }
        for pair in parts.list.windows(2) {
            prop_assert!(pair[0].header.end <= pair[1].header.start);
        }
    }

    #[test]
    fn no_octets_end_the_walker(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
        let raw = [b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n", raw.as_slice()].concat();
        let message = header::split(&Bytes::from(raw));
        Parts::of(&Header::parse(&message.head), &message.rest);
    }

    #[test]
    fn an_independent_reader_finds_the_same_bodies(bodies in proptest::collection::vec("[a-z]{1,9}(\r\n[a-z]{1,9}){0,2}", 1..5)) {
        let parts: String = bodies.iter().map(|body| format!("--a\r\nContent-Type: text/plain\r\n\r\n{body}\r\n")).collect();
        let raw = format!("Content-Type: multipart/mixed; boundary=a\r\n\r\n{parts}--a--\r\n");
        let message = MessageParser::default().parse(raw.as_bytes()).unwrap();
        let theirs: Vec<String> = message.parts.iter().filter_map(|part| match &part.body {
            PartType::Text(text) => Some(text.clone().into_owned()),
            _ => None,
        }).collect();
        let ours: Vec<String> = found(&raw).into_iter().skip(1).map(|(_, _, body)| body).collect();
        prop_assert_eq!(ours, theirs);
    }
}
