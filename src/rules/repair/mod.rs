//! Repairs, one file each: what is mended, and why.
//!
//! A repair leaves a message without its kind of damage alone, octet for octet; what it cannot mend it leaves to the
//! lint of the upstream, or refuses with the reply that says what is wrong.

mod addresses;
mod blank_line;
mod bom;
mod duplicates;
mod encode_header;
mod field_syntax;
mod idn;
mod line_endings;
mod long_lines;
mod mbox_from;
mod nul;
mod parameters;
mod parts;
mod recode;
mod required_fields;
mod stray;
mod value;
#[cfg(test)]
mod value_tests;

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    header::{FieldName, Header},
    mail::Reply,
};

use super::{draft::Draft, facts::Facts};

/// One repair.
pub struct RepairRow {
    /// Its name.
    pub name: &'static str,
    /// What it mends and why.
    pub doc: &'static str,
    /// Mends the draft, or refuses it.
    pub(super) apply: fn(&mut Mending<'_>) -> Result<(), Reply>,
}

impl std::fmt::Debug for RepairRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All repairs, in the order in which `builtin:ses` applies them.
pub const REPAIRS: &[RepairRow] = &[
    bom::ROW,
    mbox_from::ROW,
    line_endings::ROW,
    nul::ROW,
    blank_line::ROW,
    field_syntax::ROW,
    duplicates::ROW,
    parameters::ROW,
    required_fields::ROW,
    addresses::ROW,
    idn::ROW,
    encode_header::ROW,
    long_lines::ROW,
];

/// A draft while one repair works on it; what it does to the message goes through here and is recorded.
pub(super) struct Mending<'a> {
    pub(super) draft: &'a mut Draft,
    pub(super) facts: &'a Facts,
    pub(super) rule: &'a Arc<str>,
    /// The name of the repair.
    pub(super) repair: &'static str,
}

impl Mending<'_> {
    /// The header as it is.
    fn header(&self) -> &Header {
        &self.draft.header
    }

    /// Puts other octets in the place of a field: one field with its final CRLF.
    fn put(&mut self, at: usize, octets: Vec<u8>) {
        self.edit(at, |header| header.put(at, octets));
    }

    /// Takes a field out.
    fn remove(&mut self, at: usize) {
        self.edit(at, |header| header.remove(at));
    }

    /// Gives a field another name.
    fn rename(&mut self, at: usize, name: &FieldName) {
        self.edit(at, |header| header.rename(at, name));
    }

    /// Adds a field behind the others.
    fn append(&mut self, name: &FieldName, value: &str) {
        self.draft.header.append(name, value);
        let line = format!("{name}: {value}");
        self.draft.trace.record(self.rule, name.as_str(), (None, Some(line.as_bytes())));
    }

    /// Reads the whole message anew from other octets.
    fn reread(&mut self, raw: &Bytes, what: &str) {
        let message = crate::header::split(raw);
        self.draft.header = Header::parse(&message.head);
        self.draft.rest = message.rest;
        self.note(what);
    }

    /// Records something that is no change of one field.
    fn note(&mut self, what: &str) {
        let field = format!("(repair {})", self.repair);
        self.draft.trace.record(self.rule, &field, (None, Some(what.as_bytes())));
    }

    fn edit(&mut self, at: usize, edit: impl FnOnce(&mut Header)) {
        let name = self.draft.header.name(at).unwrap_or("(no name)").to_owned();
        let before = self.draft.header.whole(at).to_vec();
        edit(&mut self.draft.header);
        let after = self.draft.header.whole(at).to_vec();
        if before != after {
            let after = Some(after.as_slice()).filter(|after| !after.is_empty());
            self.draft.trace.record(self.rule, &name, (Some(&before), after));
        }
    }
}

/// Tools of the repairs' own tests.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::{Client, Envelope, Id};

    /// What one repair makes of a message: the reply that refuses it, or the message.
    pub(super) fn repaired(name: &str, raw: &str) -> Result<String, String> {
        repaired_octets(name, raw.as_bytes()).map(|octets| String::from_utf8_lossy(&octets).into_owned())
    }

    /// The same of a message that is no text.
    pub(super) fn repaired_octets(name: &str, raw: &[u8]) -> Result<Bytes, String> {
        let row = REPAIRS.iter().find(|row| row.name == name).unwrap();
        let envelope = Envelope {
            sender: crate::mail::Sender(crate::mail::Address::parse("sender@example.com").ok()),
            ..Envelope::default()
        };
        let mut draft = Draft::new(envelope, &Bytes::copy_from_slice(raw));
        let client = Client::new([127, 0, 0, 1].into(), "smtp");
        let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: "relay.example.com".to_owned() };
        let mut mending = Mending { draft: &mut draft, facts: &facts, rule: &"test".into(), repair: row.name };
        (row.apply)(&mut mending).map_err(|reply| reply.to_string())?;
        Ok(draft.message().to_bytes())
    }

    /// Asserts that a repair leaves a message alone.
    pub(super) fn untouched(name: &str, raw: &str) {
        assert_eq!(repaired(name, raw).as_deref(), Ok(raw), "{name}");
    }
}
