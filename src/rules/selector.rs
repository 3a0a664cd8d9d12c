//! Which fields of a header are meant: by name, value and occurrence.

use std::collections::HashMap;

use crate::{
    header::Header,
    tree::{Entry, Node},
};

use super::{
    file::Compiler,
    pattern::{Case, Pattern, Values},
};

/// A compiled selector.
#[derive(Debug)]
pub(super) struct Selector {
    name: Pattern,
    not_name: Option<Pattern>,
    value: Option<Values>,
    not_value: Option<Pattern>,
    occurrence: Occurrence,
    raw: bool,
}

/// Which of several fields of one name.
#[derive(Clone, Copy, Debug)]
enum Occurrence {
    Any,
    From(usize, usize),
    Last,
}

pub(super) const FORM: &str = "a header selector has the keys name, not_name, value, not_value, occurrence (\"1\", \"2+\", \"2-3\", \"last\") and raw";

impl Selector {
    /// Compiles a table of keys, or a name alone.
    pub(super) fn compile(node: &Node, compiler: &mut Compiler) -> Option<Self> {
        let Some(entries) = node.as_table() else {
            let name = Pattern::compile(node, Case::Ignored, compiler)?;
            return Some(Self {
                name,
                not_name: None,
                value: None,
                not_value: None,
                occurrence: Occurrence::Any,
                raw: false,
            });
        };
        let everything = Node::text(node.place.clone(), "*");
        let name = Pattern::compile(node.child("name").unwrap_or(&everything), Case::Ignored, compiler)?;
        let mut selector =
            Self { name, not_name: None, value: None, not_value: None, occurrence: Occurrence::Any, raw: false };
        let legal: Vec<bool> = entries.iter().map(|entry| selector.take(entry, compiler).is_some()).collect();
        legal.into_iter().all(|one| one).then_some(selector)
    }

    fn take(&mut self, entry: &Entry, compiler: &mut Compiler) -> Option<()> {
        let node = &entry.node;
        match entry.key.as_str() {
            "name" => {}
            "not_name" => self.not_name = Some(Pattern::compile(node, Case::Ignored, compiler)?),
            "value" => self.value = Some(Values::compile(node, Case::Exact, compiler)?),
            "not_value" => self.not_value = Some(Pattern::compile(node, Case::Exact, compiler)?),
            "occurrence" => self.occurrence = occurrence(node, compiler)?,
            "raw" => self.raw = compiler.flag(node)?,
            unknown => {
                compiler.fault_at(&entry.place, format!("unknown key {unknown}; {FORM}"));
                return None;
            }
        }
        Some(())
    }

    /// The positions of the fields that are meant, top down.
    pub(super) fn select(&self, header: &Header) -> Vec<usize> {
        let mut positions = self.occurring(header);
        if self.value.is_some() || self.not_value.is_some() {
            positions.retain(|at| self.value_matches(header, *at));
        }
        positions
    }

    /// Whether the header has such a field; with `value = { every = … }`, whether all fields meant have such a value.
    pub(super) fn holds(&self, header: &Header) -> bool {
        match (&self.value, &self.not_value, self.occurrence) {
            (Some(values), ..) => values.match_in(self.occurring(header).into_iter().map(|at| self.text(header, at))),
            (None, None, Occurrence::Any) => self.named(header).next().is_some(),
            _ => !self.select(header).is_empty(),
        }
    }

    /// The fields whose name is meant.
    fn named<'a>(&'a self, header: &'a Header) -> impl Iterator<Item = (usize, &'a [u8])> {
        let excluded = |name| self.not_name.as_ref().is_some_and(|not| not.matches_octets(name));
        header.names().filter(move |(_, name)| self.name.matches_octets(name) && !excluded(name))
    }

    /// The fields that name and occurrence mean, whatever their values.
    fn occurring(&self, header: &Header) -> Vec<usize> {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        let numbered: Vec<(usize, Vec<u8>, usize)> = match self.occurrence {
            Occurrence::Any => return self.named(header).map(|(at, _)| at).collect(),
            _ => self
                .named(header)
                .map(|(at, name)| {
                    let key = name.to_ascii_lowercase();
                    let count = counts.entry(key.clone()).or_default();
                    *count += 1;
                    (at, key, *count)
                })
                .collect(),
        };
        let meant = |key: &Vec<u8>, number: usize| match self.occurrence {
            Occurrence::Any => true,
            Occurrence::From(first, last) => (first..=last).contains(&number),
            Occurrence::Last => counts.get(key) == Some(&number),
        };
        numbered.iter().filter(|(_, key, number)| meant(key, *number)).map(|(at, _, _)| *at).collect()
    }

    fn value_matches(&self, header: &Header, at: usize) -> bool {
        let text = self.text(header, at);
        self.value.as_ref().is_none_or(|value| value.match_in([&text]))
            && !self.not_value.as_ref().is_some_and(|not| not.matches(&text))
    }

    fn text(&self, header: &Header, at: usize) -> String {
        if self.raw { String::from_utf8_lossy(&header.unfolded(at)).into_owned() } else { header.decoded(at) }
    }
}

fn occurrence(node: &Node, compiler: &mut Compiler) -> Option<Occurrence> {
    let text = match &node.value {
        crate::tree::Value::Scalar(toml::Value::Integer(number)) => number.to_string(),
        _ => node.as_text().unwrap_or_default().to_owned(),
    };
    let number = |digits: &str| digits.parse::<usize>().ok().filter(|number| *number > 0);
    let read = if text == "last" {
        Some(Occurrence::Last)
    } else if let Some(first) = text.strip_suffix('+') {
        number(first).map(|first| Occurrence::From(first, usize::MAX))
    } else if let Some((first, last)) = text.split_once('-') {
        number(first)
            .zip(number(last))
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| Occurrence::From(first, last))
    } else {
        number(&text).map(|one| Occurrence::From(one, one))
    };
    if read.is_none() {
        compiler.fault(node, "occurrence is \"1\", \"2+\", \"2-3\" or \"last\"");
    }
    read
}
