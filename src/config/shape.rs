//! Tables where tables belong, arrays where arrays do: serde would take an array for a table, key by key.

use serde_json::Value as Json;

use crate::tree::{Fault, Node, Step, Value};

use super::schema::Schema;

/// Takes out of the tree what has the wrong shape; gives the faults and where they were.
pub(super) fn straighten(root: &mut Node) -> Vec<(Fault, Vec<Step>)> {
    let schema = Schema::of_settings();
    let mut found = Vec::new();
    walk(root, schema.root(), &mut Walk { schema: &schema, path: Vec::new(), found: &mut found });
    found
}

struct Walk<'a> {
    schema: &'a Schema,
    path: Vec<Step>,
    found: &'a mut Vec<(Fault, Vec<Step>)>,
}

fn walk(node: &mut Node, schema: &Json, walk_on: &mut Walk<'_>) {
    let known = walk_on.schema;
    match &mut node.value {
        Value::Table(entries) => entries.retain_mut(|entry| {
            let Some(inner) = known.property(schema, &entry.key) else { return true };
            walk_on.path.push(Step::Key(entry.key.clone()));
            let fault =
                wrong(known, inner, &entry.node).map(|form| Fault::new(&entry.place, form.replace("KEY", &entry.key)));
            let kept = fault.is_none();
            match fault {
                Some(fault) => walk_on.found.push((fault, walk_on.path.clone())),
                None => walk(&mut entry.node, inner, walk_on),
            }
            walk_on.path.pop();
            kept
        }),
        Value::Array(elements) => {
            let Some(inner) = known.element_table(schema) else { return };
            for (index, element) in elements.iter_mut().enumerate() {
                walk_on.path.push(Step::Index(index));
                walk(element, inner, walk_on);
                walk_on.path.pop();
            }
        }
        Value::Scalar(_) => {}
    }
}

/// The right form, when the shape is wrong.
fn wrong(known: &Schema, schema: &Json, node: &Node) -> Option<&'static str> {
    let tables = known.element_table(schema).is_some();
    match (known.kind(schema), &node.value) {
        ("object", Value::Array(_) | Value::Scalar(_)) => Some("KEY is one table; write [KEY]"),
        ("array", Value::Table(_)) if tables => Some("KEY is an array of tables; write [[KEY]]"),
        ("array", Value::Array(elements)) if tables && elements.iter().any(|one| one.as_table().is_none()) => {
            Some("KEY is an array of tables; write [[KEY]]")
        }
        _ => None,
    }
}
