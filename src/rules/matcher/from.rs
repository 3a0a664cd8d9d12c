//! `from`, `from_domain`: the addresses in the From field.

use crate::{
    mime::mailboxes,
    rules::pattern::{Case, Values},
    tree::Node,
};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const FROM: MatcherRow = MatcherRow {
    key: "from",
    doc: "an address in a From field",
    example: r#"{ from = "root@*" }"#,
    at_rcpt: false,
    compile: |node, compiler| compile(node, compiler, str::to_owned),
};

pub(super) const FROM_DOMAIN: MatcherRow = MatcherRow {
    key: "from_domain",
    doc: "the domain of an address in a From field",
    example: r#"{ not = { from_domain = "finance.example.com" } }"#,
    at_rcpt: false,
    compile: |node, compiler| {
        compile(node, compiler, |address| address.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned())
    },
};

#[derive(Debug)]
struct From {
    values: Values,
    part: fn(&str) -> String,
}

impl Matcher for From {
    fn matches(&self, _: &Facts, draft: &Draft) -> bool {
        let fields = draft.header.find("From").flat_map(|at| mailboxes(draft.header.raw(at)));
        self.values.match_in(fields.map(|mailbox| (self.part)(&mailbox.address)))
    }
}

fn compile(node: &Node, compiler: &mut Compiler, part: fn(&str) -> String) -> Option<Box<dyn Matcher>> {
    Some(Box::new(From { values: Values::compile(node, Case::Ignored, compiler)?, part }))
}
