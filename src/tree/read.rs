//! A tree into a Rust type by serde, with every fault of it at once.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::{Fault, Node, Place, Value};

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// A place in an array.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// What could be read of a tree.
#[derive(Debug)]
pub struct Partial<T> {
    /// The value without what was wrong; `None` when the root itself is.
    pub value: Option<T>,
    /// One fault for each wrong or unknown value.
    pub faults: Vec<Fault>,
    /// The tree without what was wrong.
    pub rest: Node,
    /// Where a known value was wrong, so that a default stands in its place now.
    pub defaulted: Vec<Vec<Step>>,
}

/// Reads a type from a tree.
///
/// # Errors
/// One fault for each wrong or unknown value.
pub fn read<T: DeserializeOwned>(root: &Node) -> Result<T, Vec<Fault>> {
    let partial = read_partial(root);
    match partial.value {
        Some(value) if partial.faults.is_empty() => Ok(value),
        _ => Err(partial.faults),
    }
}

/// Reads what can be read.
///
/// serde stops at its first error; so what it stumbles over is taken out of a copy and the rest is read again, until all
/// is read or the root itself is wrong.
pub fn read_partial<T: DeserializeOwned>(root: &Node) -> Partial<T> {
    let mut partial = Partial { value: None, faults: Vec::new(), rest: root.clone(), defaulted: Vec::new() };
    let mut removed = Vec::new();
    loop {
        let error = match serde_path_to_error::deserialize::<_, T>(partial.rest.to_toml()) {
            Ok(value) => {
                partial.value = Some(value);
                break;
            }
            Err(error) => error,
        };
        let path = steps(error.path());
        let place = locate(&partial.rest, &path);
        let as_written = original(&path, &removed);
        let words = error.inner().to_string();
        partial.faults.push(Fault::new(&place, message(&as_written, &words)));
        if !remove(&mut partial.rest, &path) {
            break;
        }
        if !words.starts_with("unknown field") {
            partial.defaulted.push(as_written.clone());
        }
        removed.push(as_written);
    }
    partial.faults.sort_by_key(|fault| fault.place.at);
    partial
}

/// The path as it was before elements were taken out of the arrays it leads through.
fn original(path: &[Step], removed: &[Vec<Step>]) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    for step in path {
        let Step::Index(index) = step else {
            found.push(step.clone());
            continue;
        };
        let is_gone =
            |at: &usize| removed.iter().any(|one| one.split_last() == Some((&Step::Index(*at), found.as_slice())));
        let at = (0..).filter(|at| !is_gone(at)).nth(*index).unwrap_or(*index);
        found.push(Step::Index(at));
    }
    found
}

/// `listener[0].name`.
pub fn dotted(path: &[Step]) -> String {
    let mut dotted = String::new();
    for step in path {
        match step {
            Step::Key(key) if dotted.is_empty() => dotted.push_str(key),
            Step::Key(key) => dotted.push_str(&format!(".{key}")),
            Step::Index(index) => dotted.push_str(&format!("[{index}]")),
        }
    }
    dotted
}

fn message(path: &[Step], error: &str) -> String {
    let dotted = dotted(path);
    let error = error.lines().next().unwrap_or_default();
    if dotted.is_empty() { error.to_owned() } else { format!("{dotted}: {error}") }
}

fn steps(path: &Path) -> Vec<Step> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Where the path leads: the value for a wrong value, the key for an unknown key.
pub(super) fn locate(root: &Node, path: &[Step]) -> Place {
    let mut place = root.place.clone();
    let mut node = root;
    for step in path {
        let next = match (step, &node.value) {
            (Step::Key(key), Value::Table(entries)) => {
                entries.iter().find(|entry| entry.key == *key).map(|entry| (&entry.place, &entry.node))
            }
            (Step::Index(index), Value::Array(elements)) => {
                elements.get(*index).map(|element| (&element.place, element))
            }
            _ => None,
        };
        let Some((next_place, next_node)) = next else { break };
        (place, node) = (next_place.clone(), next_node);
    }
    place
}

fn remove(root: &mut Node, path: &[Step]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let mut node = root;
    for step in parents {
        let next = match (step, &mut node.value) {
            (Step::Key(key), Value::Table(entries)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
            }
            (Step::Index(index), Value::Array(elements)) => elements.get_mut(*index),
            _ => None,
        };
        let Some(next) = next else { return false };
        node = next;
    }
    match (last, &mut node.value) {
        (Step::Key(key), Value::Table(entries)) => {
            let before = entries.len();
            entries.retain(|entry| entry.key != *key);
            entries.len() < before
        }
        (Step::Index(index), Value::Array(elements)) if *index < elements.len() => {
            elements.remove(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, Default)]
    #[serde(default, deny_unknown_fields)]
    struct Outer {
        #[serde(rename = "listener")]
        listeners: Vec<Inner>,
        count: u8,
    }

    #[derive(serde::Deserialize, Debug, Default)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        name: String,
        max: u8,
    }

    #[test]
    fn every_fault_is_found_at_its_place() {
        let text = "count = \"x\"\nchicken = 1\n\n[[listener]]\nname = 3\n[[listener]]\n  maxx = 1\n  max = 300\n";
        let faults = read::<Outer>(&super::super::parse("test.toml", text).unwrap()).unwrap_err();
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "test.toml:1:1: count: invalid type: string \"x\", expected u8",
                "test.toml:2:1: chicken: unknown field `chicken`, expected `listener` or `count`",
                "test.toml:5:1: listener[0].name: invalid type: integer `3`, expected a string",
                "test.toml:7:3: listener[1].maxx: unknown field `maxx`, expected `name` or `max`",
                "test.toml:8:3: listener[1].max: invalid value: integer `300`, expected u8",
            ]
        );
    }

    #[test]
    fn each_element_of_an_array_keeps_its_number() {
        let text = "listener = [7, { max = -1 }, 8, { name = 9 }]\n";
        let faults = read::<Outer>(&super::super::parse("test.toml", text).unwrap()).unwrap_err();
        let paths: Vec<String> = faults.iter().map(|fault| fault.message.split(": ").next().unwrap().into()).collect();
        assert_eq!(paths, ["listener[0]", "listener[1].max", "listener[2]", "listener[3].name"]);
    }

    #[test]
    fn syntax_errors_have_their_place() {
        let faults = super::super::parse("test.toml", "a = \nb = 2\n[x\n").unwrap_err();
        assert_eq!(faults[0].place.line_and_column().map(|(line, _)| line), Some(1));
    }
}
