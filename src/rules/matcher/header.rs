//! `header`: a field by name, or by a selector's keys.

use crate::rules::selector::Selector;

use super::{Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "header",
    doc: "a field of that name is there, or one that a selector's keys select",
    example: r#"{ header = { name = "Subject", value = "/^re:/i" } }"#,
    at_rcpt: false,
    compile: |node, compiler| Some(Box::new(Header(Selector::compile(node, compiler)?))),
};

#[derive(Debug)]
struct Header(Selector);

impl Matcher for Header {
    fn matches(&self, _: &Facts, draft: &Draft) -> bool {
        self.0.holds(&draft.header)
    }
}
