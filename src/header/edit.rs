//! The editor: fields by position, edits remembered, all of them written in one pass.

use std::{borrow::Cow, num::NonZeroU32};

use bytes::{Bytes, BytesMut};

use super::{
    FieldName, fold,
    parse::{self, Span},
    word,
};

/// The header of one message while it is edited.
///
/// A field keeps its position for the whole of an edit: what is removed leaves a gap, what is added comes last.
#[derive(Clone, Debug)]
pub struct Header {
    head: Bytes,
    /// Where each field stands, in the head or in what we wrote; a removed one has no octets.
    fields: Vec<Span>,
    /// What we wrote, each in the place of one field.
    written: Vec<Box<[u8]>>,
    edited: bool,
}

impl Header {
    /// Reads a header section.
    pub fn parse(head: &Bytes) -> Self {
        Self { fields: parse::fields(head), head: head.clone(), written: Vec::new(), edited: false }
    }

    /// The positions of all fields that are there, and of lines that are no fields.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.fields.iter().enumerate().filter(|(_, field)| field.end > field.start).map(|(at, _)| at)
    }

    /// The positions and names of all fields. A name is ASCII; as octets it need not be checked for that each time.
    pub fn names(&self) -> impl Iterator<Item = (usize, &[u8])> + '_ {
        let named = self.fields.iter().enumerate().filter(|(_, field)| field.name > 0);
        named.map(|(at, field)| (at, self.source(field).get(field.name()).unwrap_or_default()))
    }

    /// The positions of the fields of that name, compared without case.
    pub fn find<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.names().filter(|(_, octets)| octets.eq_ignore_ascii_case(name.as_bytes())).map(|(at, _)| at)
    }

    /// The name at a position; `None` for a removed field and for a line that is no field.
    pub fn name(&self, at: usize) -> Option<&str> {
        let field = self.fields.get(at)?;
        let octets = self.source(field).get(field.name())?;
        std::str::from_utf8(octets).ok().filter(|name| !name.is_empty())
    }

    /// Whether there is a line at a position that is no field.
    pub fn is_stray(&self, at: usize) -> bool {
        self.fields.get(at).is_some_and(|field| field.end > field.start && field.name == 0)
    }

    /// The value at a position as it stands: with its folding, without the final line end; empty for a removed field.
    pub fn raw(&self, at: usize) -> &[u8] {
        let Some(field) = self.fields.get(at) else { return &[] };
        self.source(field).get(field.value()).unwrap_or_default()
    }

    /// All octets of the field, with its final line end.
    pub fn whole(&self, at: usize) -> &[u8] {
        self.fields.get(at).map(|field| self.octets(field)).unwrap_or_default()
    }

    /// The value without folding and outer white space, else as it stands.
    pub fn unfolded(&self, at: usize) -> Cow<'_, [u8]> {
        let raw = self.raw(at);
        if memchr::memchr2(b'\r', b'\n', raw).is_none() {
            return Cow::Borrowed(raw.trim_ascii());
        }
        let unfolded: Vec<u8> = raw.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
        Cow::Owned(unfolded.trim_ascii().to_vec())
    }

    /// The value unfolded, its RFC 2047 words decoded.
    pub fn decoded(&self, at: usize) -> String {
        word::decode(self.raw(at))
    }

    /// Whether the value decodes to that text; decided without decoding where nothing is encoded.
    pub fn decodes_to(&self, at: usize, text: &str) -> bool {
        let raw = self.raw(at);
        if raw.trim_ascii() == text.as_bytes() {
            return !text.contains("=?") || self.decoded(at) == text;
        }
        let marks = || memchr::memchr_iter(b'?', raw);
        if !raw.is_ascii() || marks().any(|end| end > 0 && raw.get(end - 1) == Some(&b'=')) {
            return self.decoded(at) == text;
        }
        // An encoded-word may be folded in two.
        let unfolds = || if marks().next().is_none() { unfolds_to(raw, text) } else { self.decoded(at) == text };
        memchr::memchr(b'\n', raw).is_some() && unfolds()
    }

    /// Gives the field another name; its value keeps every octet.
    pub fn rename(&mut self, at: usize, name: &FieldName) {
        let Some(field) = self.fields.get(at).filter(|field| field.name > 0) else { return };
        let tail = self.source(field).get(field.value().start..field.end).unwrap_or_default();
        let octets = [name.as_str().as_bytes(), b":", tail].concat();
        self.put(at, octets);
    }

    /// Takes the field out, with all its lines.
    pub fn remove(&mut self, at: usize) {
        self.write(at, Vec::new(), Span::default());
    }

    /// Gives the field another value, folded and encoded as it needs it.
    pub fn set(&mut self, at: usize, value: &str) {
        if let Some(name) = self.name(at).map(str::to_owned) {
            self.put(at, written(&name, value));
        }
    }

    /// Puts other octets in the place of a field: one field with its final line end, else nothing changes.
    pub fn put(&mut self, at: usize, octets: Vec<u8>) {
        if let [span] = parse::fields(&octets).as_slice() {
            self.write(at, octets, *span);
        }
    }

    /// Adds a field as the last one.
    pub fn append(&mut self, name: &FieldName, value: &str) {
        let unended = self.positions().last().filter(|at| !self.whole(*at).ends_with(b"\n"));
        if let Some(at) = unended {
            self.put(at, [self.whole(at), b"\r\n"].concat());
        }
        let at = self.fields.len();
        self.fields.push(Span::default());
        self.put(at, written(name.as_str(), value));
    }

    /// Whether anything was changed.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// Octets that [`Header::finish`] will give.
    pub fn len(&self) -> usize {
        self.fields.iter().map(|field| field.end - field.start).sum()
    }

    /// Whether no field is there.
    pub fn is_empty(&self) -> bool {
        self.positions().next().is_none()
    }

    /// The header with its edits; the very same buffer when there are none.
    pub fn finish(&self) -> Bytes {
        if !self.edited {
            return self.head.clone();
        }
        let mut out = BytesMut::with_capacity(self.len());
        for field in &self.fields {
            out.extend_from_slice(self.octets(field));
        }
        out.freeze()
    }

    fn source(&self, field: &Span) -> &[u8] {
        match field.written {
            Some(number) => self.written.get(index(number)).map(Box::as_ref).unwrap_or_default(),
            None => &self.head,
        }
    }

    fn octets(&self, field: &Span) -> &[u8] {
        self.source(field).get(field.start..field.end).unwrap_or_default()
    }

    fn write(&mut self, at: usize, octets: Vec<u8>, span: Span) {
        let Some(field) = self.fields.get_mut(at) else { return };
        let next = || u32::try_from(self.written.len() + 1).ok().and_then(NonZeroU32::new);
        let Some(number) = field.written.or_else(next) else { return };
        match self.written.get_mut(index(number)) {
            Some(before) => *before = octets.into(),
            None => self.written.push(octets.into()),
        }
        *field = Span { written: Some(number), ..span };
        self.edited = true;
    }
}

fn index(number: NonZeroU32) -> usize {
    number.get() as usize - 1
}

/// Whether a value that is ASCII and holds no encoded-word has that text once it is unfolded.
fn unfolds_to(raw: &[u8], text: &str) -> bool {
    let is_line_end = |octet: &&u8| matches!(octet, b'\r' | b'\n');
    let is_outer = |octet: &&u8| matches!(octet, b'\r' | b'\n' | b' ' | b'\t');
    let start = raw.iter().take_while(is_outer).count();
    let end = raw.len() - raw.iter().rev().take_while(is_outer).count();
    let inside = raw.get(start..end).unwrap_or_default();
    inside.iter().filter(|octet| !is_line_end(octet)).eq(text.as_bytes())
}

/// A field of our own making; whatever the value holds, it stays one field.
fn written(name: &str, value: &str) -> Vec<u8> {
    debug_assert!(!name.is_empty() && name.bytes().all(|octet| octet.is_ascii_graphic() && octet != b':'));
    fold(name, &word::encode_unstructured(&word::printable(value))).into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str =
        "From: a@example.com\r\nX-Long: one\r\n\ttwo\r\nno field\r\nSubject : old\r\nfrom: b@example.com\r\n";

    fn name(text: &str) -> FieldName {
        FieldName::parse(text).unwrap()
    }

    fn text(header: &Header) -> String {
        String::from_utf8(header.finish().to_vec()).unwrap()
    }

    #[test]
    fn values_are_read_unfolded_and_names_without_case() {
        let header = Header::parse(&Bytes::from(HEAD));
        assert_eq!(header.find("FROM").collect::<Vec<_>>(), [0, 4]);
        assert_eq!(header.unfolded(1).as_ref(), b"one\ttwo");
        assert_eq!(header.name(2), None);
        assert_eq!(header.name(3), Some("Subject"));
        assert_eq!(header.decoded(3), "old");
    }

    #[test]
    fn edits_touch_their_field_only() {
        let mut header = Header::parse(&Bytes::from(HEAD));
        header.rename(1, &name("X-Longer"));
        header.remove(4);
        header.set(3, "new\r\nBcc: x@example.com");
        header.append(&name("X-Added"), "é");
        assert_eq!(
            text(&header),
            "From: a@example.com\r\nX-Longer: one\r\n\ttwo\r\nno field\r\nSubject: new  Bcc: x@example.com\r\nX-Added: =?UTF-8?Q?=C3=A9?=\r\n"
        );
        assert_eq!(header.len(), text(&header).len());
    }

    #[test]
    fn a_field_added_behind_one_without_line_end_stands_on_its_own_line() {
        let mut header = Header::parse(&Bytes::from("A: b"));
        header.append(&name("C"), "d");
        assert_eq!(text(&header), "A: b\r\nC: d\r\n");
    }

    #[test]
    fn a_field_with_a_name_longer_than_we_make_one_can_be_set() {
        let long = "x".repeat(300);
        let mut header = Header::parse(&Bytes::from(format!("{long}: a\r\n")));
        header.set(0, "b");
        assert_eq!(text(&header), format!("{long}: b\r\n"));
    }

    proptest! {
        #[test]
        fn what_a_value_decodes_to_is_told_as_by_decoding_it(
            value in "([a-c =?é]|=\\?utf-8\\?q\\?a\\?=|\r\n |\r\n\t){0,12}",
            other in "[a-c ]{0,4}",
        ) {
            let header = Header::parse(&Bytes::from(format!("A:{value}\r\n")));
            let decoded = header.decoded(0);
            prop_assert!(header.decodes_to(0, &decoded), "{:?}", decoded);
            prop_assert_eq!(header.decodes_to(0, &other), decoded == other);
        }

        #[test]
        fn without_an_edit_every_octet_stays(head in proptest::collection::vec(any::<u8>(), 0..400)) {
            let head = Bytes::from(head);
            prop_assert_eq!(Header::parse(&head).finish(), head);
        }

        #[test]
        fn renaming_there_and_back_restores_every_octet(head in "([A-Za-z-]{1,9}:[ -~]{0,20}\r\n([ \t][ -~]{0,9}\r\n){0,2}){1,9}") {
            let head = Bytes::from(head);
            let mut header = Header::parse(&head);
            let positions: Vec<usize> = header.positions().collect();
            for at in positions {
                let old = name(header.name(at).unwrap());
                header.rename(at, &name("X"));
                header.rename(at, &old);
            }
            prop_assert_eq!(header.finish(), head);
        }
    }
}
