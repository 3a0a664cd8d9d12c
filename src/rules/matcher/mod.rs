//! Matchers, one file each: the keys of `when`.
//!
//! Keys of a table are ANDed, the elements of an array ORed; `not` negates its table, `all` and `any` take arrays of
//! tables.

mod attachment;
mod client;
mod env;
mod envelope;
mod from;
mod header;
mod logic;
mod size;
mod text;
mod tls;

use std::fmt::Debug;

use crate::tree::Node;

use super::{draft::Draft, facts::Facts, file::Compiler};

/// A compiled condition.
pub(super) trait Matcher: Debug + Send + Sync {
    /// Whether it holds.
    fn matches(&self, facts: &Facts, draft: &Draft) -> bool;
}

/// One key of `when`.
pub struct MatcherRow {
    /// The key.
    pub key: &'static str,
    /// What it holds for.
    pub doc: &'static str,
    /// A `when` that uses it.
    pub example: &'static str,
    /// Whether it can be asked at RCPT.
    pub at_rcpt: bool,
    pub(super) compile: fn(&Node, &mut Compiler) -> Option<Box<dyn Matcher>>,
}

/// All keys of `when`.
pub const MATCHERS: &[MatcherRow] = &[
    client::ROW,
    text::LISTENER,
    text::LOGIN,
    text::USER,
    text::HELO,
    tls::ROW,
    envelope::SENDER,
    envelope::RECIPIENT,
    from::FROM,
    from::FROM_DOMAIN,
    size::ROW,
    header::ROW,
    attachment::ROW,
    env::ROW,
    logic::NOT,
    logic::ALL,
    logic::ANY,
];

/// Compiles a table of conditions, all of which have to hold.
pub(super) fn compile_all(node: &Node, compiler: &mut Compiler) -> Vec<Box<dyn Matcher>> {
    let Some(entries) = node.as_table() else {
        compiler.fault(node, format!("a table of conditions, not {}", node.kind()));
        return Vec::new();
    };
    let mut matchers = Vec::new();
    for entry in entries {
        match MATCHERS.iter().find(|row| row.key == entry.key) {
            Some(row) if compiler.rcpt && !row.at_rcpt => {
                compiler.fault_at(&entry.place, format!("{} is not known at RCPT yet", row.key));
            }
            Some(row) => matchers.extend((row.compile)(&entry.node, compiler)),
            None => {
                let known: Vec<&str> = MATCHERS.iter().map(|row| row.key).collect();
                compiler.unknown(entry, &known.join(", "));
            }
        }
    }
    matchers
}
