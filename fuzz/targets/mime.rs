//! Reading MIME: parts lie within each other, and what was put right is right.

#![no_main]

use std::ops::Range;

use bytes::Bytes;
use headgate::{
    header::{self, Header},
    mime::{
        self, Grammar, Mend, Parts, Shape, Value,
        address::{self, Letters, Mended, Structure},
    },
};
use libfuzzer_sys::fuzz_target;

/// Fields that are read, each for itself: an input with a thousand of them would keep a thousand others waiting.
const FIELDS: usize = 20;

fuzz_target!(|octets: &[u8]| {
    let message = header::split(&Bytes::copy_from_slice(octets));
    let head = Header::parse(&message.head);
    parts_are_nested(&Parts::of(&head, &message.rest), message.rest.len());
    let _ = mime::attachments(&head, &message.rest);
    for at in head.positions().take(FIELDS) {
        let value = head.raw(at);
        let _ = (mime::mailboxes(value), mime::Encoding::read(value));
        parameters(head.name(at).unwrap_or_default(), value);
        addresses(&header::text(&head.unfolded(at)));
    }
    bodies(&message.rest);
});

fn parts_are_nested(parts: &Parts, length: usize) {
    let within = |inner: &Range<usize>, outer: &Range<usize>| {
        assert!(inner.start <= inner.end && outer.start <= inner.start && inner.end <= outer.end);
    };
    assert!(!parts.list.is_empty());
    for (index, part) in parts.list.iter().enumerate() {
        within(&part.header, &(0..length));
        within(&part.body, &(0..length));
        assert!(part.header.end <= part.body.start);
        let _ = (parts.number(index), parts.is_message(index));
        if let Shape::Multipart { preamble, epilogue } = &part.shape {
            within(preamble, &part.body);
            within(epilogue, &part.body);
            assert!(preamble.end <= epilogue.start);
        }
        let Some(parent) = part.parent else {
            assert_eq!(index, 0);
            continue;
        };
        assert!(parent < index);
        within(&part.header, &parts.list[parent].body);
        within(&part.body, &parts.list[parent].body);
        let before = parts.list[..index].iter().rfind(|one| one.parent == part.parent);
        assert_eq!(part.ordinal, before.map_or(0, |one| one.ordinal) + 1);
        assert!(before.is_none_or(|one| one.body.end <= part.header.start));
    }
}

fn parameters(name: &str, value: &[u8]) {
    for grammar in [Grammar::Type, Grammar::Disposition] {
        let read = Value::read(grammar, value);
        let _ = (read.boundary(), read.file_name(), mime::check(grammar, value));
        if let Mend::Write(field) = mime::mend(grammar, name, value) {
            one_field(&field);
            let written = field.split_once(':').map_or("", |(_, value)| value).trim_end_matches("\r\n");
            assert_eq!(mime::check(grammar, written.as_bytes()), Ok(()), "{field:?}");
        }
    }
}

fn addresses(list: &str) {
    for letters in [Letters::Ascii, Letters::Utf8] {
        if let Ok(specs) = address::check(list, letters) {
            for spec in specs {
                assert_eq!(list.get(spec.domain_start..spec.domain_start + spec.domain.len()), Some(spec.domain));
            }
        }
        for own in [None, Some("example.com")] {
            if let Mended::Written(written) = address::mend(list, letters, own) {
                assert!(address::check(&written, Letters::Utf8).is_ok(), "{written:?}");
                one_field(&address::folded("To", &written));
            }
        }
    }
    for structure in [Structure::Tokens, Structure::Identifier, Structure::Phrases, Structure::Uris] {
        let ascii = address::to_ascii(list, structure);
        assert!(ascii.is_ascii() && !ascii.contains(['\r', '\n']), "{ascii:?}");
        assert_eq!(address::to_ascii(&ascii, structure), ascii, "{structure:?}");
    }
}

fn one_field(field: &str) {
    assert!(field.ends_with("\r\n"));
    let header = Header::parse(&Bytes::from(field.to_owned()));
    assert_eq!(header.positions().count(), 1, "{field:?}");
    assert_eq!(header::split(&Bytes::from(field.to_owned())).head.len(), field.len(), "{field:?}");
}

fn bodies(octets: &[u8]) {
    let coded = mime::quoted_printable::encode(octets);
    assert!(coded.is_ascii() && !header::has_long_line(&coded));
    assert!(!header::has_long_line(&mime::quoted_printable::rewrap(octets, header::LINE_MAX)));
    assert!(!header::has_long_line(&mime::base64::encode(octets)));
    if let Some(wrapped) = mime::base64::rewrap(octets, header::LINE_MAX) {
        assert!(!header::has_long_line(&wrapped) && !wrapped.contains(&0));
    }
}
