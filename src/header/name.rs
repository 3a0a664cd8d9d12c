//! Field names (RFC 5322 section 2.2).

use std::fmt;

/// Longest name we make; a line has to hold it, its colon and some value (RFC 5322 section 2.1.1).
const MAX: usize = 256;

/// A legal field name: printable ASCII without colon and blank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldName(Box<str>);

impl FieldName {
    /// Reads a name.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("a field name is not empty".to_owned())
        } else if text.len() > MAX {
            Err(format!("a field name has at most {MAX} characters"))
        } else if let Some(wrong) = text.chars().find(|one| !one.is_ascii_graphic() || *one == ':') {
            Err(format!("{wrong:?} cannot stand in a field name (RFC 5322 section 2.2)"))
        } else {
            Ok(Self(text.into()))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
