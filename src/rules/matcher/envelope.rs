//! `sender`, `recipient`: the addresses of the envelope.

use crate::{
    rules::pattern::{Case, Values},
    tree::Node,
};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const SENDER: MatcherRow = MatcherRow {
    key: "sender",
    doc: "the address of MAIL FROM; \"\" is the null sender",
    example: r#"{ sender = ["", "*@example.com"] }"#,
    at_rcpt: true,
    compile: |node, compiler| compile(node, compiler, |draft| vec![draft.envelope.sender.to_string()]),
};

pub(super) const RECIPIENT: MatcherRow = MatcherRow {
    key: "recipient",
    doc: "an address of RCPT TO; { every = … } asks all of them",
    example: r#"{ recipient = { every = "*@example.net" } }"#,
    at_rcpt: true,
    compile: |node, compiler| {
        compile(node, compiler, |draft| draft.envelope.recipients.iter().map(ToString::to_string).collect())
    },
};

#[derive(Debug)]
struct Envelope {
    values: Values,
    look: fn(&Draft) -> Vec<String>,
}

impl Matcher for Envelope {
    fn matches(&self, _: &Facts, draft: &Draft) -> bool {
        self.values.match_in((self.look)(draft))
    }
}

fn compile(node: &Node, compiler: &mut Compiler, look: fn(&Draft) -> Vec<String>) -> Option<Box<dyn Matcher>> {
    Some(Box::new(Envelope { values: Values::compile(node, Case::Ignored, compiler)?, look }))
}
