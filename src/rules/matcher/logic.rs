//! `not`, `all`, `any`: conditions made of conditions.

use crate::tree::Node;

use super::{Compiler, Draft, Facts, Matcher, MatcherRow, compile_all};

pub(super) const NOT: MatcherRow = MatcherRow {
    key: "not",
    doc: "its table does not hold as a whole",
    example: r#"{ not = { listener = "smtp" } }"#,
    at_rcpt: true,
    compile: |node, compiler| Some(Box::new(Not(compile_all(node, compiler)))),
};

pub(super) const ALL: MatcherRow = MatcherRow {
    key: "all",
    doc: "each of its tables holds",
    example: r#"{ all = [{ header = "X-A" }, { header = "X-B" }] }"#,
    at_rcpt: true,
    compile: |node, compiler| Some(Box::new(All(tables(node, compiler)?))),
};

pub(super) const ANY: MatcherRow = MatcherRow {
    key: "any",
    doc: "one of its tables holds",
    example: r#"{ any = [{ sender = "" }, { from = "MAILER-DAEMON@*" }] }"#,
    at_rcpt: true,
    compile: |node, compiler| Some(Box::new(Any(tables(node, compiler)?))),
};

type Table = Vec<Box<dyn Matcher>>;

#[derive(Debug)]
struct Not(Table);

#[derive(Debug)]
struct All(Vec<Table>);

#[derive(Debug)]
struct Any(Vec<Table>);

fn holds(table: &Table, facts: &Facts, draft: &Draft) -> bool {
    table.iter().all(|matcher| matcher.matches(facts, draft))
}

impl Matcher for Not {
    fn matches(&self, facts: &Facts, draft: &Draft) -> bool {
        !holds(&self.0, facts, draft)
    }
}

impl Matcher for All {
    fn matches(&self, facts: &Facts, draft: &Draft) -> bool {
        self.0.iter().all(|table| holds(table, facts, draft))
    }
}

impl Matcher for Any {
    fn matches(&self, facts: &Facts, draft: &Draft) -> bool {
        self.0.iter().any(|table| holds(table, facts, draft))
    }
}

fn tables(node: &Node, compiler: &mut Compiler) -> Option<Vec<Table>> {
    let Some(elements) = node.as_array() else {
        compiler.fault(node, format!("an array of tables, not {}", node.kind()));
        return None;
    };
    Some(elements.iter().map(|element| compile_all(element, compiler)).collect())
}
