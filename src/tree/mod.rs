//! TOML as a tree whose every value knows where it stands, so that a fault names file, line and column.
//!
//! Text goes in; a [`Node`] or [`Fault`]s come out. It knows no setting and no rule: `config` and `rules` read their
//! files through it.

mod parse;
mod read;

use std::{fmt, sync::Arc};

pub use parse::parse;
pub use read::{Partial, Step, dotted, read, read_partial};

/// A text and its name.
#[derive(Debug)]
pub struct Source {
    /// A path, or what stands for one.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Where a value stands: a place in a file, or the name of a flag or an environment variable.
#[derive(Clone, Debug)]
pub struct Place {
    source: Arc<Source>,
    at: Option<usize>,
}

impl Place {
    /// A place that is no file.
    pub fn named(name: &str) -> Self {
        Self { source: Arc::new(Source { name: name.to_owned(), text: String::new() }), at: None }
    }

    /// A place in a text, by octet.
    pub fn within(source: &Arc<Source>, at: usize) -> Self {
        Self { source: Arc::clone(source), at: Some(at) }
    }

    /// Line and column, both from 1; the column counts characters.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let before = self.source.text.get(..self.at?)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..)?.chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line_and_column() {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.source.name),
            None => f.write_str(&self.source.name),
        }
    }
}

/// Something wrong with a text, and where.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Fault {
    /// A fault at a place.
    pub fn new(place: &Place, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// The kinds of value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string, number, boolean or time.
    Scalar(toml::Value),
    /// An array, or an array of tables.
    Array(Vec<Node>),
    /// A table.
    Table(Vec<Entry>),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub place: Place,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// An empty table.
    pub fn table(place: Place) -> Self {
        Self { place, value: Value::Table(Vec::new()) }
    }

    /// A string.
    pub fn text(place: Place, text: &str) -> Self {
        Self { place, value: Value::Scalar(toml::Value::String(text.to_owned())) }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(toml::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The entries, if it is a table.
    pub fn as_table(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The value of a key, if it is a table that has it.
    pub fn child(&self, key: &str) -> Option<&Node> {
        self.as_table()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of a key, made if it is not there; `None` if this is no table.
    pub fn child_or_insert(&mut self, key: &str, place: &Place, new: Value) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        if !entries.iter().any(|entry| entry.key == key) {
            let node = Node { place: place.clone(), value: new };
            entries.push(Entry { key: key.to_owned(), place: place.clone(), node });
        }
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Where the value or key stands that a path of keys and indices leads to, as far as it leads.
    pub fn place_of(&self, path: &[Step]) -> Place {
        read::locate(self, path)
    }

    /// A fault at this value.
    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(&self.place, message)
    }

    /// The same as a plain value.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Scalar(scalar) => scalar.clone(),
            Value::Array(elements) => toml::Value::Array(elements.iter().map(Node::to_toml).collect()),
            Value::Table(entries) => {
                toml::Value::Table(entries.iter().map(|entry| (entry.key.clone(), entry.node.to_toml())).collect())
            }
        }
    }

    /// What kind of value it is, for messages: `a string`.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar(toml::Value::Integer(_)) => "an integer",
            Value::Scalar(toml::Value::Float(_)) => "a float",
            Value::Scalar(toml::Value::Boolean(_)) => "a boolean",
            Value::Scalar(toml::Value::Datetime(_)) => "a time",
            Value::Scalar(_) => "a string",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}
