//! `size`: octets received.

use std::cmp::Ordering;

use crate::{mail::Size, tree::Node};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "size",
    doc: "the octets received are more (\">10MB\") or less (\"<2KB\") than that",
    example: r#"{ size = ">10MB" }"#,
    at_rcpt: false,
    compile,
};

#[derive(Debug)]
struct Octets {
    wanted: Ordering,
    size: Size,
}

impl Matcher for Octets {
    fn matches(&self, facts: &Facts, _: &Draft) -> bool {
        facts.size.cmp(&self.size.octets()) == self.wanted
    }
}

fn compile(node: &Node, compiler: &mut Compiler) -> Option<Box<dyn Matcher>> {
    let text = compiler.text(node)?;
    let (wanted, size) = match (text.strip_prefix('>'), text.strip_prefix('<')) {
        (Some(size), _) => (Ordering::Greater, size),
        (_, Some(size)) => (Ordering::Less, size),
        _ => {
            compiler.fault(node, "size is \">10MB\" or \"<2KB\"");
            return None;
        }
    };
    match size.parse() {
        Ok(size) => Some(Box::new(Octets { wanted, size })),
        Err(message) => {
            compiler.fault(node, message);
            None
        }
    }
}
