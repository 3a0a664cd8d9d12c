//! What the repairs of MIME share: edits of fields wherever they stand, and splices in the body.
//!
//! The message's own header is edited in the draft, all else by splices: octets that no edit names stay as they are.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::Mending;
use crate::{
    header::{FieldName, Header},
    mime::{Part, Parts},
};

/// One edit of a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Edit {
    /// Other octets in the place of a field.
    Put(usize, Vec<u8>),
    /// The field goes.
    Remove(usize),
    /// A field behind the others.
    Append(&'static str, String),
}

/// A message whose parts are being mended.
pub(super) struct Body {
    pub parts: Parts,
    rest: Bytes,
    splices: Vec<(Range<usize>, Bytes)>,
}

impl Body {
    /// The parts of the draft as it is; nothing, and a note, if there are too many of them to look at.
    pub(super) fn of(mending: &mut Mending<'_>) -> Option<Self> {
        let rest = mending.draft.rest.clone();
        let parts = Parts::of(mending.header(), &rest);
        if !parts.complete {
            mending.note("the message has too many parts; its body is left alone");
            return None;
        }
        Some(Self { parts, rest, splices: Vec::new() })
    }

    /// The places of all parts in the list.
    pub(super) fn indices(&self) -> Range<usize> {
        0..self.parts.list.len()
    }

    pub(super) fn part(&self, index: usize) -> Option<&Part> {
        self.parts.list.get(index)
    }

    /// Whether a signature or encryption covers a part.
    pub(super) fn is_sealed(&self, index: usize) -> bool {
        self.part(index).is_some_and(|part| part.sealed)
    }

    /// The header of a part.
    pub(super) fn header(&self, mending: &Mending<'_>, index: usize) -> Header {
        match self.part(index) {
            Some(part) if index > 0 => Header::parse(&self.rest.slice(part.header.clone())),
            _ => mending.header().clone(),
        }
    }

    /// The octets of a span.
    pub(super) fn octets(&self, span: &Range<usize>) -> &[u8] {
        self.rest.get(span.clone()).unwrap_or_default()
    }

    /// What a note calls a part.
    pub(super) fn label(&self, index: usize) -> String {
        match self.parts.number(index) {
            number if number.is_empty() => "the body".to_owned(),
            number => format!("part {number}"),
        }
    }

    /// Edits the header of a part, of which it is told what was before and after.
    pub(super) fn edit(&mut self, mending: &mut Mending<'_>, index: usize, edits: Vec<Edit>) {
        let Some(part) = self.part(index).filter(|_| index > 0) else { return edit_top(mending, edits) };
        if edits.is_empty() {
            return;
        }
        let (span, label) = (part.header.clone(), self.label(index));
        let mut header = self.header(mending, index);
        for edit in edits {
            apply(mending, &mut header, (&label, edit));
        }
        self.replace(span, header.finish());
    }

    /// Puts other octets in the place of a span.
    pub(super) fn replace(&mut self, span: Range<usize>, octets: Bytes) {
        self.splices.push((span, octets));
    }

    /// Writes the body with all that was replaced; the very same buffer if nothing was.
    pub(super) fn finish(mut self, mending: &mut Mending<'_>) {
        if self.splices.is_empty() {
            return;
        }
        self.splices.sort_by_key(|(span, _)| (span.start, span.end));
        let added: usize = self.splices.iter().map(|(_, octets)| octets.len()).sum();
        let mut out = BytesMut::with_capacity(self.rest.len() + added);
        let mut at = 0;
        for (span, octets) in &self.splices {
            out.extend_from_slice(self.octets(&(at..span.start)));
            out.extend_from_slice(octets);
            at = span.end;
        }
        out.extend_from_slice(self.octets(&(at..self.rest.len())));
        mending.draft.rest = out.freeze();
    }
}

/// Edits the message's own header.
pub(super) fn edit_top(mending: &mut Mending<'_>, edits: Vec<Edit>) {
    for edit in edits {
        match edit {
            Edit::Put(at, octets) => mending.put(at, octets),
            Edit::Remove(at) => mending.remove(at),
            Edit::Append(name, value) => {
                if let Ok(name) = FieldName::parse(name) {
                    mending.append(&name, &value);
                }
            }
        }
    }
}

fn apply(mending: &mut Mending<'_>, header: &mut Header, (label, edit): (&str, Edit)) {
    let (name, before, after) = match edit {
        Edit::Put(at, octets) => {
            let (name, before) = field(header, at);
            header.put(at, octets);
            (name, Some(before), Some(header.whole(at).to_vec()))
        }
        Edit::Remove(at) => {
            let (name, before) = field(header, at);
            header.remove(at);
            (name, Some(before), None)
        }
        Edit::Append(name, value) => {
            if let Ok(name) = FieldName::parse(name) {
                header.append(&name, &value);
            }
            (name.to_owned(), None, Some(format!("{name}: {value}").into_bytes()))
        }
    };
    let field = format!("{name} ({label})");
    mending.draft.trace.record(mending.rule, &field, (before.as_deref(), after.as_deref()));
}

fn field(header: &Header, at: usize) -> (String, Vec<u8>) {
    (header.name(at).unwrap_or("(no name)").to_owned(), header.whole(at).to_vec())
}
