//! Address lists (RFC 5322 sections 3.4 and 4.4, RFC 2047 section 5 (3)): a strict check, a reader that understands
//! nearly everything that is seen in mail, and a writer.
//!
//! In goes the unfolded text of a field, out comes what is wrong with it, or the list in the right form. An entry that
//! is right stays as it is. Other structured fields have the same tokens and are read here too.

mod entry;
mod fault;
mod list;
mod spec;
mod strict;
mod structured;
#[cfg(test)]
mod tests;
mod token;
mod write;

pub use fault::{Fault, Flaw};
pub use strict::{Letters, Spec, check, survey};
pub use structured::{Structure, to_ascii};
pub use write::folded;

/// What became of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mended {
    /// It is right as it is.
    Right,
    /// It holds no address at all.
    Empty,
    /// The list in the right form; its addresses may still have domains and local parts that are not ASCII.
    Written(String),
    /// No list can be made of it.
    Unreadable,
}

/// Puts an unfolded list right; `own` is the domain that a local part alone gets. With [`Letters::Utf8`] what is wrong
/// only for its letters stays, with [`Letters::Ascii`] names and comments are encoded.
pub fn mend(list: &str, letters: Letters, own: Option<&str>) -> Mended {
    match check(list, letters) {
        Ok(_) => return Mended::Right,
        Err(Flaw { fault: Fault::Empty, .. }) => return Mended::Empty,
        Err(_) => {}
    }
    match (list::Reader { letters, own, nested: false }).read(list) {
        Some(entries) if entries.is_empty() => Mended::Empty,
        Some(entries) => {
            let written = entries.join(", ");
            if check(&written, Letters::Utf8).is_ok() { Mended::Written(written) } else { Mended::Unreadable }
        }
        None => Mended::Unreadable,
    }
}
