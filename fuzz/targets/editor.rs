//! Editing a header: an edit changes its field only, and nothing that is written begins another field.

#![no_main]

use bytes::Bytes;
use headgate::header::{FieldName, Header};
use libfuzzer_sys::{arbitrary::Unstructured, fuzz_target};

/// Edits of a header at most.
const EDITS: usize = 16;

fuzz_target!(|octets: &[u8]| {
    // The edits are taken from the end, the header is what is left: a mail as it is, is an input.
    let mut input = Unstructured::new(octets);
    let _ = edited(&mut input);
});

fn edited(input: &mut Unstructured<'_>) -> libfuzzer_sys::arbitrary::Result<()> {
    let length = input.arbitrary_len::<u8>()?;
    let head = Bytes::copy_from_slice(input.bytes(length)?);
    let mut header = Header::parse(&head);
    let mut model: Vec<Vec<u8>> = header.positions().map(|at| header.whole(at).to_vec()).collect();
    for _ in 0..EDITS {
        if input.is_empty() {
            break;
        }
        let at = input.choose_index(model.len() + 2)?;
        edit(&mut header, at, input, &mut model)?;
        holds(&header, &model);
    }
    Ok(())
}

fn edit(
    header: &mut Header,
    at: usize,
    input: &mut Unstructured<'_>,
    model: &mut Vec<Vec<u8>>,
) -> libfuzzer_sys::arbitrary::Result<()> {
    let (text, named) = (input.arbitrary::<&str>()?, header.name(at).is_some());
    let name = FieldName::parse(input.arbitrary::<&str>()?).or_else(|_| FieldName::parse("X-Name"));
    let Ok(name) = name else { return Ok(()) };
    let before = header.raw(at).to_vec();
    match input.int_in_range(0..=4)? {
        0 => {
            header.rename(at, &name);
            assert!(!named || header.name(at) == Some(name.as_str()) && header.raw(at) == before);
        }
        1 => header.remove(at),
        2 => {
            let old = header.name(at).map(str::to_owned);
            header.set(at, text);
            assert_eq!(header.name(at), old.as_deref());
            assert!(!named || says(header, at, text));
        }
        3 => {
            let count = model.len();
            let ended = header.positions().last().is_none_or(|last| header.whole(last).ends_with(b"\n"));
            header.append(&name, text);
            if let Some(last) = model.iter_mut().rfind(|one| !one.is_empty()).filter(|_| !ended) {
                last.extend_from_slice(b"\r\n");
            }
            model.push(header.whole(count).to_vec());
            assert!(header.name(count) == Some(name.as_str()) && says(header, count, text));
        }
        _ => header.put(at, text.as_bytes().to_vec()),
    }
    if let Some(one) = model.get_mut(at).filter(|one| one.as_slice() != header.whole(at)) {
        *one = header.whole(at).to_vec();
    }
    Ok(())
}

/// Whether a field says a text: the same words, for its blanks may be others.
fn says(header: &Header, at: usize, text: &str) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|one| !one.is_control() && !one.is_whitespace()).collect::<String>()
    };
    assert!(header.whole(at).is_ascii() && header.whole(at).ends_with(b"\r\n"));
    words(&header.decoded(at)) == words(text)
}

fn holds(header: &Header, model: &[Vec<u8>]) {
    let out = header.finish();
    assert_eq!(out.len(), header.len());
    for (at, one) in model.iter().enumerate() {
        assert_eq!(header.whole(at), one.as_slice(), "field {at}");
    }
    assert_eq!(out, model.iter().flat_map(|one| one.iter().copied()).collect::<Vec<_>>());
    reads_the_same(header, &out);
}

/// What was written is read as what was meant. A header that begins with a blank is refused before; a line that is no
/// field may be one blank line of its own.
fn reads_the_same(header: &Header, out: &Bytes) {
    let again = Header::parse(out);
    let named = |header: &Header| -> Vec<(String, Vec<u8>)> {
        let fields = header.positions().filter_map(|at| Some((header.name(at)?.to_owned(), header.raw(at).to_vec())));
        fields.collect()
    };
    let first = header.positions().next();
    let blank = header.positions().any(|at| {
        Some(at) != first && header.whole(at).first().is_some_and(|octet| matches!(octet, b' ' | b'\t'))
            || !header.whole(at).ends_with(b"\n") && Some(at) != header.positions().last()
    });
    if !blank {
        assert_eq!(named(header), named(&again));
    }
}
