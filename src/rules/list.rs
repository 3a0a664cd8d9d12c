//! Named lists: `[list]` gives them, `[list.extend]` adds to them, `@name` uses them.

use std::collections::BTreeMap;

use crate::tree::{Fault, Node};

/// All lists of all files.
#[derive(Debug, Default)]
pub(super) struct Lists(BTreeMap<String, Vec<Node>>);

impl Lists {
    /// Takes the `[list]` table of a file; `[list.extend]` is taken by [`Lists::extend`] once all files gave theirs.
    pub(super) fn define(&mut self, table: &Node, faults: &mut Vec<Fault>) {
        for entry in table.as_table().unwrap_or_default().iter().filter(|entry| entry.key != "extend") {
            if self.0.contains_key(&entry.key) {
                let message = format!("list {0} is defined already; add to it with [list.extend] {0} = […]", entry.key);
                faults.push(Fault::new(&entry.place, message));
            } else if let Some(elements) = texts(&entry.node, faults) {
                self.0.insert(entry.key.clone(), elements);
            }
        }
    }

    /// Takes the `[list.extend]` table of a file.
    pub(super) fn extend(&mut self, table: &Node, faults: &mut Vec<Fault>) {
        let Some(extend) = table.child("extend") else { return };
        if extend.as_table().is_none() {
            faults.push(extend.fault("[list.extend] is a table of lists, such as ses_known = [\"X-Ours\"]"));
        }
        for entry in extend.as_table().unwrap_or_default() {
            match (self.0.get_mut(&entry.key), texts(&entry.node, faults)) {
                (Some(list), Some(elements)) => list.extend(elements),
                (Some(_), None) => {}
                (None, _) => faults.push(Fault::new(&entry.place, format!("there is no list {} to extend", entry.key))),
            }
        }
    }

    /// The elements of a list.
    pub(super) fn get(&self, name: &str) -> Option<&[Node]> {
        self.0.get(name).map(Vec::as_slice)
    }
}

fn texts(node: &Node, faults: &mut Vec<Fault>) -> Option<Vec<Node>> {
    let elements = node.as_array().filter(|elements| elements.iter().all(|element| element.as_text().is_some()));
    if elements.is_none() {
        faults.push(node.fault("a list is an array of strings"));
    }
    elements.map(<[Node]>::to_vec)
}
