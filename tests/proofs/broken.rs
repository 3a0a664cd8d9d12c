//! Octets that are no mail, and mail as broken programs make it.

use proptest::{collection::vec, option::weighted, prelude::*, sample::select};

/// A message that prints itself legibly.
#[derive(Clone)]
pub struct Raw(pub Vec<u8>);

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

type Octets = BoxedStrategy<Vec<u8>>;

/// Any octets; those that mean something in a header are frequent.
pub fn arbitrary() -> impl Strategy<Value = Raw> {
    let telling = select(b"\r\n\r\n\r\n:: \t;=\"<>@,().?-XAaz0\0\x7f\xef\xbb\xbf\xc3\xa9\xff".to_vec());
    let names = select(NAMES).prop_map(|name| [b"\r\n", name.as_bytes(), b":"].concat());
    let one = prop_oneof![6 => telling.prop_map(|octet| vec![octet]), 2 => any::<u8>().prop_map(|octet| vec![octet]), 1 => names];
    vec(one, 0..160).prop_map(|pieces| Raw(pieces.concat()))
}

/// Mail with the faults that real programs make.
pub fn plausible() -> impl Strategy<Value = Raw> {
    let start = prop_oneof![
        8 => Just(&b""[..]), 1 => Just(&b"\xef\xbb\xbf"[..]), 1 => Just(&b"From a@b Mon Jan  1\r\n"[..]), 1 => Just(&b" folded\r\n"[..]),
    ];
    let lines = vec(prop_oneof![12 => field(), 1 => stray()], 0..14);
    let end = prop_oneof![6 => Just(&b"\r\n"[..]), 1 => Just(&b""[..])];
    (start, lines, end, body(), ending()).prop_map(|(start, lines, end, body, ending)| {
        let message = [start, lines.concat().as_slice(), end, body.as_slice()].concat();
        Raw(ended(&message, ending))
    })
}

/// What stands for CRLF: mostly itself, and else each of these in turn.
fn ending() -> impl Strategy<Value = &'static [&'static [u8]]> {
    let endings: &[&[&[u8]]] = &[
        &[b"\r\n"],
        &[b"\r\n"],
        &[b"\r\n"],
        &[b"\n"],
        &[b"\r"],
        &[b"\r\n", b"\n", b"\r\r\n"],
        &[b"\r\n", b"\r\n", b"\r"],
    ];
    select(endings)
}

fn ended(message: &[u8], endings: &[&[u8]]) -> Vec<u8> {
    let mut endings = endings.iter().cycle();
    let mut out = Vec::with_capacity(message.len());
    let mut rest = message;
    while let Some((first, tail)) = rest.split_first() {
        match rest.strip_prefix(b"\r\n") {
            Some(after) => {
                out.extend_from_slice(endings.next().unwrap());
                rest = after;
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

const NAMES: &[&str] = &[
    "From",
    "from",
    "To",
    "Cc",
    "Bcc",
    "bcc",
    "Subject",
    "Date",
    "Message-ID",
    "Message-Id",
    "Reply-To",
    "Sender",
    "Received",
    "received",
    "Return-Path",
    "MIME-Version",
    "Content-Type",
    "content-type",
    "Content-Disposition",
    "Content-Transfer-Encoding",
    "References",
    "In-Reply-To",
    "List-Unsubscribe",
    "List-Id",
    "DKIM-Signature",
    "Precedence",
    "Auto-Submitted",
    "Comments",
    "Keywords",
    "Errors-To",
    "X-Mailer",
    "X-SES-Source-ARN",
    "Chicken",
    "RT-Originator",
    "X-RT-Originator",
    "Resent-From",
    "User-Agent",
    "Organization",
    "Disposition-Notification-To",
];

/// What stands between a name and its value.
const COLONS: &[&str] = &[": ", ": ", ": ", ": ", ":", " : ", "\t:", ":\r\n ", "", "\0: ", ": \r\n \r\n\t"];

fn field() -> Octets {
    let end = prop_oneof![12 => Just(&b"\r\n"[..]), 1 => Just(&b"\r\n \r\n"[..]), 1 => Just(&b"\0\r\n"[..])];
    (select(NAMES), select(COLONS), value(), end)
        .prop_map(|(name, colon, value, end)| [name.as_bytes(), colon.as_bytes(), &value, end].concat())
        .boxed()
}

fn stray() -> Octets {
    let lines: &[&[u8]] = &[
        b"no field\r\n",
        b": nothing\r\n",
        b"Foo Bar: baz\r\n",
        b"charset=utf-8\r\n",
        b"Gr\xc3\xb6\xc3\x9fe: 3\r\n",
        b"<p>\r\n",
        b"--b\r\n",
        b"Hello there,\r\n",
        b" \r\n",
        b"\0\r\n",
        b"\0\0:x\r\n",
        b"Re\0ceived: x\r\n",
        b"B\0cc: x@example.com\r\n",
        b">From x\r\n",
        b"X-\x80: y\r\n",
        b"(a): b\r\n",
        b"\xa0Bcc: a@b\r\n",
        b"From x@y\r\n",
    ];
    select(lines).prop_map(<[u8]>::to_vec).boxed()
}

fn value() -> Octets {
    let word = select(WORDS).prop_map(|word| word.as_bytes().to_vec());
    let glues: &[&[u8]] = &[b" ", b" ", b"", b", ", b"; ", b"\r\n ", b"\r\n\t", b"\t"];
    let glue = select(glues);
    let words = vec((word, glue), 0..9)
        .prop_map(|pairs| pairs.iter().map(|(word, glue)| [word, *glue].concat()).collect::<Vec<_>>().concat());
    let long =
        (select(WORDS), 1..1400_usize).prop_map(|(word, times)| word.repeat(times / word.len().max(1)).into_bytes());
    let latin: &[&[u8]] =
        &[b"Pr\xfcfung", b"\xe9\xe8", b"Caf\xe9 \xc3\xa9 <a@example.com>", b"\xff\xfe", b"\x1b$B%O\x1b(B"];
    prop_oneof![
        10 => words, 2 => select(WORDS).prop_map(|word| word.as_bytes().to_vec()), 1 => long,
        1 => select(latin).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..40),
    ]
    .boxed()
}

const WORDS: &[&str] = &[
    "a@example.com",
    "<b@example.com>",
    "Ada Doe",
    "Doe, Ada",
    "\"Doe, Ada\"",
    "root",
    "",
    "J\u{fc}rgen",
    "a@b\u{fc}cher.example",
    "j\u{fc}rgen@example.com",
    "<@r.example:c@example.com>",
    "undisclosed-recipients:;",
    "(comment)",
    "(open",
    "\"open",
    "<open",
    "a b@c",
    "a..b@example.com",
    "x@",
    "@y",
    "a@b@c",
    "\\",
    "=?utf-8?q?J=C3=BCrgen?=",
    "=?utf-8?b?w6k?=",
    "=?utf-8?q?a b?=",
    "=?iso-8859-1?q?=E9?=",
    "=?utf-8?q?=C3?=",
    "=?x?y?z?=",
    "=?",
    "?=",
    "text/plain",
    "multipart/mixed;",
    "boundary=b",
    "boundary=\"b\"",
    "boundary=\"b",
    "boundary=",
    "multipart/alternative; boundary=c",
    "multipart/signed; boundary=b",
    "message/rfc822",
    "charset=utf-8",
    "charset=\"x",
    "name=r\u{e9}sum\u{e9}.pdf",
    "filename=a b.txt",
    "filename=\"x.exe\"",
    "name*=utf-8''%C3%A9",
    "name*0=a",
    "attachment",
    "inline",
    "=",
    "/",
    ";;",
    "base64",
    "quoted-printable",
    "7bit",
    "8bit",
    "<1@example.com>",
    "1.0",
    "Mon, 1 Jan 2024 00:00:00 +0000",
    "\0",
    "\u{1}",
    "\u{1f600}",
    "[RT #1]",
    "v=1; a=rsa-sha256; bh=abc=; h=from:to; b=xyz",
    "from a by b; Mon, 1 Jan 2024 00:00:00 +0000",
    "[127.0.0.1]",
    "a@[127.0.0.1]",
    "a@b,c",
];

fn body() -> Octets {
    let parts = vec((vec(field(), 0..4), text()), 0..4);
    let multipart = (text(), parts, select(&["b", "c"][..]), weighted(0.7, Just(()))).prop_map(
        |(preamble, parts, boundary, closed)| {
            let mut out = preamble;
            for (fields, text) in parts {
                out.extend_from_slice(format!("\r\n--{boundary}\r\n").as_bytes());
                out.extend_from_slice(&fields.concat());
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(&text);
            }
            out.extend_from_slice(closed.map(|()| format!("\r\n--{boundary}--\r\n")).unwrap_or_default().as_bytes());
            out
        },
    );
    prop_oneof![2 => text(), 3 => multipart].boxed()
}

fn text() -> Octets {
    let plain: &[&[u8]] = &[
        b"",
        b"hi\r\n",
        b"hi",
        b"J\xc3\xbcrgen\r\n",
        b"\xe9\r\n",
        b"aGVsbG8=\r\n",
        b"a=3D=\r\nb\r\n",
        b"--b\r\n",
        b"\0",
        b"NUL \0 here\r\n",
        b"From x\r\n.\r\n",
        b" \r\n\r\n",
    ];
    let long = (select(&["x", "long words ", "aGVsbG8h", "=C3=A9", "\u{e9}", "\0y"][..]), 900..1300_usize)
        .prop_map(|(word, length)| [word.repeat(length / word.len()).as_bytes(), b"\r\n"].concat());
    prop_oneof![8 => select(plain).prop_map(<[u8]>::to_vec), 1 => long, 1 => vec(any::<u8>(), 0..60)].boxed()
}
