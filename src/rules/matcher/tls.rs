//! `tls`: whether the session is encrypted.

use super::{Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "tls",
    doc: "whether the session is under TLS",
    example: r#"{ tls = false, not = { client = "127.0.0.0/8" } }"#,
    at_rcpt: true,
    compile: |node, compiler| Some(Box::new(Tls(compiler.flag(node)?))),
};

#[derive(Debug)]
struct Tls(bool);

impl Matcher for Tls {
    fn matches(&self, facts: &Facts, _: &Draft) -> bool {
        facts.client.tls.is_some() == self.0
    }
}
