//! The byte-preserving header editor.
//!
//! In goes the raw message, out come the same octets with the edits spliced in: a field that nobody touched keeps its
//! exact octets, folding and place, and without an edit the result is the very same buffer. It knows no rules
//! and no MIME.

mod edit;
mod encode;
mod encoded_word;
mod fold;
mod name;
mod octets;
mod once_only;
mod parse;
mod places;
mod received;
mod refold;
mod word;

pub use edit::Header;
pub use encode::{Piece, decoded, encode, joined, mend_unstructured, pieces, settled_words};
pub use encoded_word::{EncodedWord, Place};
pub use fold::{fold, preferred};
pub use name::FieldName;
pub use octets::{text, text_in};
pub use once_only::ONCE_ONLY;
pub use parse::{Line, lines, split};
pub use places::is_text;
pub use received::{Hop, received};
pub use refold::{LINE_MAX, has_long_line, refold};
pub use word::{decode, encode_unstructured, is_plain, printable};
