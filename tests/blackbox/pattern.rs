//! Expected lines with places for what differs from run to run: `{id}` an id of ours, `{ses}` one of SES, `{date}` as in
//! a header field, `{time}` as in JSON, `{stamp}` as in Apache's logs, `{utc}` as in our own, `{moment}` as people get it,
//! `{age}` as in a table, `{ms}` a number, `{word}` what has no blank.
//!
//! An id keeps its first value: `{id}` in a reply and `{id}` in the log are the same; `{id2}` is another one.

use std::collections::HashMap;

use regex::{Captures, Regex};

const KINDS: &[(&str, &str)] = &[
    ("id", "[0-9A-HJKMNP-TV-Z]{26}"),
    ("ses", "[0-9a-f-]{20,80}"),
    ("date", "[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4}"),
    ("time", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}"),
    ("stamp", r"\[[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4}\]"),
    ("ms", "[0-9]{1,6}"),
    ("age", " *[0-9]+[smhd]"),
    ("word", "[^ ]+"),
    ("moment", r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}"),
    ("utc", r"[0-9-]{10}T[0-9:.]{8,20}Z"),
];

/// The ids met so far.
#[derive(Default)]
pub struct Known(HashMap<String, String>);

impl Known {
    /// A text with the ids that are known in their places.
    pub fn filled(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// Whether a line is as expected; ids in it are known from here on.
    pub fn matches(&mut self, expected: &str, line: &str) -> bool {
        let place = Regex::new(r"\\\{(id|ses|date|time|stamp|ms|moment|age|utc|word)([0-9]*)\\\}").unwrap();
        let mut names = Vec::new();
        let literal = regex::escape(expected);
        let source = place.replace_all(&literal, |captures: &Captures<'_>| {
            let name = format!("{}{}", &captures[1], &captures[2]);
            if let Some(known) = self.0.get(&name) {
                return regex::escape(known);
            }
            let (_, form) = KINDS.iter().find(|(kind, _)| *kind == &captures[1]).unwrap();
            let keeps = ["id", "ses"].contains(&&captures[1]) && !names.contains(&name);
            names.extend(keeps.then(|| name.clone()));
            if keeps { format!("(?<{name}>{form})") } else { format!("(?:{form})") }
        });
        let Some(found) = Regex::new(&format!("^{source}$")).unwrap().captures(line) else { return false };
        for name in names {
            self.0.insert(name.clone(), found[name.as_str()].to_owned());
        }
        true
    }

    /// The first line that is not as expected, if there is one; `…` alone stands for any lines.
    pub fn compare(&mut self, expected: &[String], lines: &[String]) -> Result<(), String> {
        let mut rest = lines.iter();
        let mut skips = false;
        for wanted in expected {
            if wanted == "…" {
                skips = true;
            } else if !rest.by_ref().take(if skips { usize::MAX } else { 1 }).any(|line| self.matches(wanted, line)) {
                return Err(format!("- {wanted}\n+ {}", lines.join("\n+ ")));
            } else {
                skips = false;
            }
        }
        if skips || rest.next().is_none() {
            Ok(())
        } else {
            Err(format!("more than expected:\n+ {}", lines.join("\n+ ")))
        }
    }
}

#[test]
fn an_id_keeps_its_first_value() {
    let mut known = Known::default();
    let (one, other) = ("0".repeat(26), "1".repeat(26));
    assert!(known.matches("250 (id {id})", &format!("250 (id {one})")));
    assert!(known.matches("{id} {id2} {\"a\":{ms}}", &format!("{one} {other} {{\"a\":17}}")));
    assert!(!known.matches("{id}", &other));
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(known.compare(&lines("a … c {ms}"), &lines("a x y c 1")).is_ok());
    assert!(known.compare(&lines("a …"), &lines("a")).is_ok());
    assert!(known.compare(&lines("a"), &lines("a b")).is_err());
    assert!(known.compare(&lines("a b"), &lines("a")).is_err());
}
