//! `env`: variables that earlier rules set.

use crate::{
    rules::pattern::{Case, Pattern},
    tree::Node,
};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "env",
    doc: "the variables have such values; one that is not set is empty",
    example: r#"{ env = { RTUSER = "*@example.com" } }"#,
    at_rcpt: false,
    compile,
};

#[derive(Debug)]
struct Env(Vec<(String, Pattern)>);

impl Matcher for Env {
    fn matches(&self, _: &Facts, draft: &Draft) -> bool {
        let value = |name: &String| draft.trace.env.get(name).map(String::as_str).unwrap_or_default();
        self.0.iter().all(|(name, pattern)| pattern.matches(value(name)))
    }
}

fn compile(node: &Node, compiler: &mut Compiler) -> Option<Box<dyn Matcher>> {
    let Some(entries) = node.as_table() else {
        compiler.fault(node, "env is a table, such as { RTUSER = \"*@example.com\" }");
        return None;
    };
    let patterns =
        entries.iter().map(|entry| Some((entry.key.clone(), Pattern::compile(&entry.node, Case::Exact, compiler)?)));
    let patterns: Option<Vec<_>> = patterns.collect();
    Some(Box::new(Env(patterns?)))
}
