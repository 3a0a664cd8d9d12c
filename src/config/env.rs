//! Environment variables and flags, laid over the tree of the settings file.
//!
//! A variable is `HEADGATE_SECTION__KEY`; an element of an array of tables is named: `HEADGATE_LISTENER__SMTP__ALLOW=a,b`.
//! What a text means is told by the schema: an array is split at commas, a number is a number.

use serde_json::Value as Json;

use crate::{
    tree::{self, Fault, Node, Place, Value},
    upstream::UPSTREAMS,
};

use super::{Request, schema::Schema};

/// Variables that are not settings by their names.
const OTHERS: &[&str] = &["HEADGATE_CONFIG", "HEADGATE_LISTEN", "HEADGATE_UPSTREAM"];

pub(super) fn apply(root: &mut Node, request: &Request) -> Vec<Fault> {
    let schema = Schema::of_settings();
    let mut overlay = Overlay { root, schema: &schema, faults: Vec::new() };
    let mut variables: Vec<&(String, String)> =
        request.environment.iter().filter(|(name, _)| name.starts_with("HEADGATE_")).collect();
    variables.sort();
    for (name, value) in variables {
        let place = Place::named(name);
        match name.as_str() {
            "HEADGATE_LISTEN" => overlay.listen(value, &place),
            "HEADGATE_UPSTREAM" => overlay.upstream(value, &place),
            other if OTHERS.contains(&other) => {}
            other => overlay.variable(other, value, &place),
        }
    }
    if let Some(address) = &request.listen {
        overlay.listen(address, &Place::named("--listen"));
    }
    if let Some(upstream) = &request.upstream {
        overlay.upstream(upstream, &Place::named("--upstream"));
    }
    for pair in &request.set {
        // What stands behind a misspelt name may be a password.
        let key = pair.split_once('=').map_or(pair.as_str(), |(key, _)| key);
        let place = Place::named(&format!("--set {key}"));
        match pair.split_once('=') {
            Some((key, value)) => overlay.set(&key.split('.').map(str::to_owned).collect::<Vec<_>>(), value, &place),
            None => {
                overlay.faults.push(Fault::new(&place, "write --set KEY=VALUE, such as --set limits.recipients=100"))
            }
        }
    }
    overlay.faults
}

struct Overlay<'a> {
    root: &'a mut Node,
    schema: &'a Schema,
    faults: Vec<Fault>,
}

impl Overlay<'_> {
    fn listen(&mut self, address: &str, place: &Place) {
        self.set(&path(["listener", "default", "address"]), address, place);
    }

    fn upstream(&mut self, text: &str, place: &Place) {
        let (kind, argument) = text.split_once(':').map_or((text, None), |(kind, argument)| (kind, Some(argument)));
        let Some(row) = UPSTREAMS.iter().find(|row| row.kind == kind) else {
            let known: Vec<&str> = UPSTREAMS.iter().map(|row| row.kind).collect();
            self.faults.push(Fault::new(
                place,
                format!("there is no upstream {kind:?}; write KIND or KIND:ARG with {}", known.join(" or ")),
            ));
            return;
        };
        self.set(&path(["upstream", "default", "kind"]), kind, place);
        if let Some(argument) = argument {
            self.set(&path(["upstream", "default", row.argument]), argument, place);
        }
    }

    /// A name without `__` is a setting only if it is one at the top: Kubernetes makes HEADGATE_PORT and the like.
    fn variable(&mut self, name: &str, value: &str, place: &Place) {
        let lower = name.trim_start_matches("HEADGATE_").to_ascii_lowercase();
        let path: Vec<String> = lower.split("__").map(str::to_owned).collect();
        if path.len() > 1
            || self
                .schema
                .property(self.schema.root(), &lower)
                .is_some_and(|schema| self.schema.kind(schema) == "string")
        {
            self.set(&path, value, place);
        }
    }

    fn set(&mut self, path: &[String], text: &str, place: &Place) {
        let known = self.schema;
        let mut schema = known.root();
        let mut keys = Vec::new();
        let mut steps = path.iter();
        while let Some(step) = steps.next() {
            let Some(next) = known.property(schema, step) else {
                self.faults.push(Fault::new(place, format!("there is no setting {}", path.join("."))));
                return;
            };
            keys.push(step.clone());
            schema = next;
            if let Some(element) = known.element_table(schema) {
                let Some(name) = steps.next().filter(|_| !steps.as_slice().is_empty()) else {
                    let text =
                        format!("{step} is an array of tables; name the element and the key, as in {step}.default.KEY");
                    self.faults.push(Fault::new(place, text));
                    return;
                };
                keys.push(format!("[{name}"));
                schema = element;
            }
        }
        match self.read(schema, text, place) {
            Ok(value) => put(self.root, &keys, value, place),
            Err(fault) => self.faults.push(fault),
        }
    }

    fn read(&self, schema: &Json, text: &str, place: &Place) -> Result<Value, Fault> {
        let scalar = |value: Option<toml::Value>, wanted: &str| {
            value.map(Value::Scalar).ok_or_else(|| Fault::new(place, format!("{text:?} is no {wanted}")))
        };
        match self.schema.kind(schema) {
            "integer" => scalar(text.trim().parse().ok().map(toml::Value::Integer), "whole number"),
            "number" => scalar(text.trim().parse().ok().map(toml::Value::Float), "number"),
            "boolean" => scalar(text.trim().parse().ok().map(toml::Value::Boolean), "true or false"),
            "array" => {
                let elements = text.split(',').map(str::trim).filter(|element| !element.is_empty());
                Ok(Value::Array(elements.map(|element| Node::text(place.clone(), element)).collect()))
            }
            "object" => {
                let inline = tree::parse(&place.to_string(), &format!("value = {text}"));
                let table =
                    inline.ok().and_then(|node| node.child("value").cloned()).filter(|node| node.as_table().is_some());
                table
                    .map(|node| node.value)
                    .ok_or_else(|| Fault::new(place, format!("{text:?} is no table, such as {{ a = \"b\" }}")))
            }
            _ => scalar(Some(toml::Value::String(text.to_owned())), "text"),
        }
    }
}

fn path<const N: usize>(steps: [&str; N]) -> Vec<String> {
    steps.map(str::to_owned).to_vec()
}

/// Puts a value where the keys lead; a key that begins with `[` is the name of an element, which is made if need be.
fn put(node: &mut Node, keys: &[String], value: Value, place: &Place) {
    let Some((first, rest)) = keys.split_first() else {
        *node = Node { place: place.clone(), value };
        return;
    };
    let next = match first.strip_prefix('[') {
        Some(name) => element(node, name, place),
        None => {
            let new = if rest.first().is_some_and(|key| key.starts_with('[')) {
                Value::Array(Vec::new())
            } else {
                Value::Table(Vec::new())
            };
            node.child_or_insert(first, place, new)
        }
    };
    if let Some(next) = next {
        put(next, rest, value, place);
    }
}

fn element<'a>(array: &'a mut Node, name: &str, place: &Place) -> Option<&'a mut Node> {
    let Value::Array(elements) = &mut array.value else { return None };
    let normal = |text: &str| text.replace('-', "_").to_ascii_lowercase();
    let named = |node: &Node| node.child("name").and_then(Node::as_text).unwrap_or("default").to_owned();
    if !elements.iter().any(|element| normal(&named(element)) == normal(name)) {
        let mut new = Node::table(place.clone());
        let _ = new.child_or_insert("name", place, Value::Scalar(toml::Value::String(name.to_owned())));
        elements.push(new);
    }
    elements.iter_mut().find(|element| normal(&named(element)) == normal(name))
}
