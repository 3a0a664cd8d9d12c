//! The values of Content-Type and Content-Disposition: a word and parameters (RFC 2045 section 5.1, RFC 2183, RFC 2231).
//!
//! Two readers look at them. The strict one, [`check`], knows the grammar; SES refuses a message for a fault in it. The
//! tolerant one, [`Value::read`], understands what people's mailers write instead; what it understood, [`mend`] writes
//! down in the right form. A value that the strict one accepts is never written anew.

mod check;
mod extended;
mod lex;
mod read;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use check::{Fault, check};
pub use write::{Mend, mend};

use extended::SectionName;

use crate::header;

/// Parameters that are read of one value; no mailer writes as many.
const MAX: usize = 100;

/// Which of the two fields it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grammar {
    /// Content-Type.
    Type,
    /// Content-Disposition.
    Disposition,
}

impl Grammar {
    /// That of a field's value, by its name in any case.
    pub fn of(name: &str) -> Option<Self> {
        let types = name.eq_ignore_ascii_case("Content-Type").then_some(Self::Type);
        types.or_else(|| name.eq_ignore_ascii_case("Content-Disposition").then_some(Self::Disposition))
    }
}

/// A value as far as it can be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// `type/subtype` or the disposition, as it is written; nothing if no disposition stands there.
    pub first: Option<String>,
    parameters: Vec<Parameter>,
    /// Whether all parameters were read.
    complete: bool,
}

/// One parameter as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Parameter {
    name: String,
    /// Its value without quotes.
    octets: Vec<u8>,
    /// The value as it stands, if the grammar allows that.
    written: Option<String>,
}

impl Value {
    /// Reads a value in whatever form it is.
    pub fn read(grammar: Grammar, value: &[u8]) -> Self {
        read::read(grammar, value)
    }

    /// The value of a parameter, without its quotes.
    pub fn parameter(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.parameters.iter().filter(|parameter| parameter.name.eq_ignore_ascii_case(name));
        named.next().map(|parameter| parameter.octets.as_slice())
    }

    /// The boundary of a multipart, if one is named; a value that is cut in sections is put together.
    pub fn boundary(&self) -> Option<Vec<u8>> {
        if let Some(boundary) = self.parameter("boundary") {
            return Some(boundary.to_vec());
        }
        let sections = self.sections("boundary");
        (!sections.is_empty()).then(|| extended::join(sections).into_bytes())
    }

    /// The file's name that `filename` or `name` gives, decoded.
    pub fn file_name(&self) -> Option<String> {
        ["filename", "name"].iter().find_map(|base| {
            let sections = self.sections(base);
            if !sections.is_empty() {
                return Some(extended::join(sections));
            }
            let octets = self.parameter(base)?;
            Some(words::decode(octets).unwrap_or_else(|| header::text(octets).into_owned()))
        })
    }

    /// The sections of a value that is written with stars.
    fn sections(&self, base: &str) -> Vec<(SectionName<'_>, &[u8])> {
        let sections =
            self.parameters.iter().filter(|parameter| parameter.name.contains('*')).filter_map(|parameter| {
                let section = SectionName::parse(&parameter.name)?;
                section.base.eq_ignore_ascii_case(base).then_some((section, parameter.octets.as_slice()))
            });
        sections.collect()
    }
}

/// Whether a parameter names a file, and its value is a text of many words.
fn is_file_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("filename") || name.eq_ignore_ascii_case("name")
}
