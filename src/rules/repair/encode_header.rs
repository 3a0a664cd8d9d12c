//! `encode-header`: what is not ASCII in a header is written with encoded-words.
//!
//! RFC 5322 section 2.2 allows ASCII only, SES has no SMTPUTF8, and what the next server makes of other octets is its
//! own. Text gets the words of RFC 2047; octets that are no UTF-8 are read in the charset of the body, for old programs
//! write both alike. Encoded-words that RFC 2047 section 2 does not allow (over 75 characters, with blanks, with half a
//! character) are encoded anew if they can be read. Controls, which no field may have, become blanks. A header that is
//! right keeps every octet.

use super::{Mending, RepairRow, value};
use crate::{
    header::{Piece, encode, fold, is_text, mend_unstructured, printable},
    mime::address::{Fault, Letters, Mended, Structure, check, folded, mend, to_ascii},
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "encode-header",
    doc: "text outside ASCII and broken encoded-words become the words of RFC 2047; controls become blanks",
    apply: |mending| {
        let header = mending.header();
        let wanting: Vec<usize> = header.positions().filter(|at| may_need(header.raw(*at))).collect();
        for at in wanting {
            apply(mending, at);
        }
        Ok(())
    },
};

/// Fields that hold addresses, and that the repair `addresses` leaves alone.
const MORE_ADDRESSES: &[&str] = &["apparently-to", "bounces-to", "original-from"];

/// Whether a raw value has something that this repair looks at.
fn may_need(raw: &[u8]) -> bool {
    let begins_word = |mark: usize| mark > 0 && raw.get(mark - 1) == Some(&b'=');
    is_odd(raw) || memchr::memchr_iter(b'?', raw).any(begins_word)
}

/// Whether octets outside ASCII or controls are there. It looks at all of them, since many are looked at in one go.
fn is_odd(octets: &[u8]) -> bool {
    let odd = |octet: u8| !matches!(octet, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    octets.iter().fold(false, |any, octet| any | odd(*octet))
}

fn apply(mending: &mut Mending<'_>, at: usize) {
    let Some(name) = mending.header().name(at).map(str::to_owned) else { return };
    let lower = name.to_ascii_lowercase();
    let text = value::text(mending.header(), at);
    // Their parameters have a way of their own to hold other letters (RFC 2231).
    if ["content-type", "content-disposition"].contains(&lower.as_str()) {
        return;
    }
    let written = if value::holds_addresses(&lower) || MORE_ADDRESSES.contains(&lower.as_str()) {
        addresses(&name, &text, value::own_domain(&mending.facts.hostname))
    } else if let Some(structure) = structure(&lower) {
        is_odd(text.as_bytes()).then(|| fold(&name, &to_ascii(&text, structure)))
    } else {
        mend_unstructured(&text).map(|value| fold(&name, &value))
    };
    // Octets that no charset knows were read as ASCII.
    let read = || (is_odd(mending.header().raw(at)) && !is_odd(text.as_bytes())).then(|| fold(&name, &text));
    if let Some(field) = written.or_else(read) {
        mending.put(at, field.into_bytes());
    }
}

/// How a field is built that is no text.
fn structure(name: &str) -> Option<Structure> {
    match name {
        "keywords" => Some(Structure::Phrases),
        "list-id" => Some(Structure::Identifier),
        "archived-at" => Some(Structure::Uris),
        _ if name.starts_with("list-") => Some(Structure::Uris),
        _ => (!is_text(name)).then_some(Structure::Tokens),
    }
}

/// An address field, if it needs a change. Names and comments are encoded; a list that is none is taken as text, so
/// that the header is ASCII all the same.
fn addresses(name: &str, text: &str, own: Option<&str>) -> Option<String> {
    let list = printable(text);
    let changed = list != text;
    match check(&list, Letters::Ascii) {
        Ok(_) => return changed.then(|| folded(name, &list)),
        Err(flaw) if !is_odd(text.as_bytes()) && flaw.fault != Fault::Word => return None,
        Err(_) => {}
    }
    match mend(&list, Letters::Ascii, None) {
        Mended::Written(list) => Some(folded(name, &list)),
        Mended::Right => None,
        // Only comments can hold letters here, and they stay what they are: a From that names nobody is no text.
        Mended::Empty => Some(fold(name, &to_ascii(&list, Structure::Tokens))),
        Mended::Unreadable => {
            let written = as_text(&list, own);
            (changed || written != list).then(|| fold(name, &written))
        }
    }
}

/// A list that cannot be read, as text. Encoded by words it might become one that can be read, in another way than it
/// was meant, since a word hides what is wrong with it; then all of it is encoded together. What even so looks like a
/// list, since we read encoded mailboxes, becomes the name of an address that has no halves.
fn as_text(list: &str, own: Option<&str>) -> String {
    let words = mend_unstructured(list).unwrap_or_else(|| list.to_owned());
    if stays(&words, own) {
        return words;
    }
    let whole = encode(&[Piece::Foreign(list.trim_matches([' ', '\t']).into())]);
    if stays(&whole, own) { whole } else { format!("{whole} <@>") }
}

/// Whether the next run leaves a list alone.
fn stays(list: &str, own: Option<&str>) -> bool {
    matches!(mend(list, Letters::Utf8, own), Mended::Right | Mended::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{repaired, untouched},
        value::tests::mended,
    };

    #[test]
    fn each_kind_of_field_is_encoded_in_its_own_way() {
        for (field, ascii) in [
            ("Subject: Prüfung am 3. März", "Subject: =?UTF-8?Q?Pr=C3=BCfung?= am 3. =?UTF-8?Q?M=C3=A4rz?="),
            ("X-Any: a\r\n é", "X-Any: a =?UTF-8?Q?=C3=A9?="),
            ("Subject: a\u{0}b\u{7f}", "Subject: a b"),
            ("Subject: =?utf-8?q?too many?= =?utf-8?b?w6k=?=", "Subject: =?UTF-8?Q?too_many?= =?utf-8?b?w6k=?="),
            ("From: J. Müller <a@example.com>", "From: =?UTF-8?Q?J=2E_M=C3=BCller?= <a@example.com>"),
            ("To: a@example.com (Jürgen)", "To: a@example.com (=?UTF-8?Q?J=C3=BCrgen?=)"),
            ("Received: from x (é) by y; now", "Received: from x (=?UTF-8?Q?=C3=A9?=) by y; now"),
            ("Message-ID: <é@example.com>", "Message-ID: <?@example.com>"),
            ("List-Id: Bücher <l.example.com>", "List-Id: =?UTF-8?Q?B=C3=BCcher?= <l.example.com>"),
            ("List-Help: <https://example.com/é>", "List-Help: <https://example.com/%C3%A9>"),
            ("Content-Description: é", "Content-Description: =?UTF-8?Q?=C3=A9?="),
            ("Original-From: J. Müller <a@example.com>", "Original-From: =?UTF-8?Q?J=2E_M=C3=BCller?= <a@example.com>"),
            ("Autocrypt: addr=é", "Autocrypt: addr=?"),
            ("Sender: Jürgen", "Sender: =?UTF-8?Q?J=C3=BCrgen?="),
            ("From: (\u{a0})", "From: (=?UTF-8?Q?=C2=A0?=)"),
            ("From: (no one), (größe)\u{1}", "From: (no one), (=?UTF-8?B?Z3LDtsOfZQ==?=)"),
        ] {
            let raw = format!("{field}\r\n\r\né");
            assert_eq!(repaired("encode-header", &raw), Ok(format!("{ascii}\r\n\r\né")), "{field}");
            untouched("encode-header", &format!("{ascii}\r\n\r\né"));
        }
    }

    #[test]
    fn a_list_that_nobody_can_read_is_none_that_somebody_can_read_once_it_is_encoded() {
        for list in [
            "a@example.com\u{ff}\u{ff}\u{7f}bject: out ofna  deitor",
            "The Team: one@example.net, two@exa\u{1}\u{0}2;, three@example.net",
            "undisclosed-recipi3=A4h?= <elay.eixample.org:d@b\u{fc}cher.example>",
            "Evan <a@exam \u{178}l",
            "\"b@examp: c@example.\u{fd}\u{ff} net",
            "<@r.example:c@example.com> name=r\u{e9}sum\u{e9}.pdf, J\u{fc}rgen",
            "\u{a0}\u{1}!",
            "\u{a0} root \u{a0}",
        ] {
            let all = ["addresses", "idn", "encode-header"];
            let once = mended(&all, format!("To: {list}\r\n\r\nx").as_bytes()).unwrap();
            assert!(once.is_ascii(), "{list:?}");
            assert_eq!(
                mended(&all, &once).map(|twice| twice.escape_ascii().to_string()),
                Ok(once.escape_ascii().to_string()),
                "{list:?}"
            );
        }
    }

    #[test]
    fn octets_are_read_in_the_charset_of_the_message() {
        let mended = |raw: &[u8]| String::from_utf8(mended(&["encode-header"], raw).unwrap()).unwrap();
        let koi = mended(b"Subject: \xf0\xd2\xc9\xd7\xc5\xd4\r\nContent-Type: text/plain;\r\n charset=koi8-r\r\n\r\nx");
        assert!(koi.starts_with("Subject: =?UTF-8?B?0J/RgNC40LLQtdGC?=\r\n"), "{koi}");
        let western = mended(b"Subject: \x80 5\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nx");
        assert!(western.starts_with("Subject: =?UTF-8?B?4oKs?= 5\r\n"), "{western}");
        let japanese = mended(b"Subject: \x1b$B%O\x1b(B\r\nContent-Type: text/plain; charset=ISO-2022-JP\r\n\r\nx");
        assert!(japanese.starts_with("Subject: =?UTF-8?B?44OP?=\r\n"), "{japanese}");
    }

    #[test]
    fn an_ascii_header_is_left_alone() {
        untouched(
            "encode-header",
            "Subject: =?iso-8859-1?Q?J=FCrgen?=\r\n\tand =?x-own?q?=ff?= =? (é)\r\n".replace(" (é)", "").as_str(),
        );
        untouched("encode-header", "From: Evan\r\nTo: a b, \"=?\" <c@example.com>\r\nSubject:\tx =?y\r\n\r\né\u{1}");
        untouched(
            "encode-header",
            "Content-Type: text/plain; name=\"é\"\r\nContent-Disposition: x; filename=é\r\n\r\nx",
        );
    }

    #[test]
    fn a_long_text_is_folded() {
        let raw = format!("Subject: {}\r\n\r\nx", "Grüße ".repeat(40));
        let mended = repaired("encode-header", &raw).unwrap();
        assert!(mended.is_ascii() && mended.lines().all(|line| line.len() <= 76), "{mended}");
        let header = crate::header::Header::parse(&mended.into());
        assert_eq!(header.decoded(0), "Grüße ".repeat(40).trim());
    }
}
