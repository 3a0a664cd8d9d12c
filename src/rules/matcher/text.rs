//! `listener`, `login`, `helo`, `user`: one text against a pattern.

use crate::{
    rules::pattern::{Case, Pattern},
    tree::Node,
};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const LISTENER: MatcherRow = MatcherRow {
    key: "listener",
    doc: "the name of the listener that the client came to",
    example: r#"{ listener = "smtp" }"#,
    at_rcpt: true,
    compile: |node, compiler| compile(node, compiler, |facts, _| &facts.client.listener),
};

pub(super) const LOGIN: MatcherRow = MatcherRow {
    key: "login",
    doc: "the authenticated name; \"\" is nobody",
    example: r#"{ login = "finance" }"#,
    at_rcpt: true,
    compile: |node, compiler| compile(node, compiler, |facts, _| facts.client.login.as_deref().unwrap_or_default()),
};

pub(super) const HELO: MatcherRow = MatcherRow {
    key: "helo",
    doc: "what the client called itself in EHLO or HELO",
    example: r#"{ helo = "*.example.com" }"#,
    at_rcpt: true,
    compile: |node, compiler| compile(node, compiler, |facts, _| &facts.client.helo),
};

pub(super) const USER: MatcherRow = MatcherRow {
    key: "user",
    doc: "the user that an earlier rule named",
    example: r#"{ user = "*@example.com" }"#,
    at_rcpt: false,
    compile: |node, compiler| compile(node, compiler, |_, draft| draft.trace.user.as_deref().unwrap_or_default()),
};

type Look = for<'a> fn(&'a Facts, &'a Draft) -> &'a str;

#[derive(Debug)]
struct Text {
    pattern: Pattern,
    look: Look,
}

impl Matcher for Text {
    fn matches(&self, facts: &Facts, draft: &Draft) -> bool {
        self.pattern.matches((self.look)(facts, draft))
    }
}

fn compile(node: &Node, compiler: &mut Compiler, look: Look) -> Option<Box<dyn Matcher>> {
    Some(Box::new(Text { pattern: Pattern::compile(node, Case::Ignored, compiler)?, look }))
}
