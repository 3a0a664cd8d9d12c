//! TOML text into a tree.

use std::sync::Arc;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Entry, Fault, Node, Place, Source, Value};

/// Reads a text.
///
/// # Errors
/// Every syntax error, each with its place.
pub fn parse(name: &str, text: &str) -> Result<Node, Vec<Fault>> {
    let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let place = Place::within(&source, table.span().start);
        return Ok(Node { place, value: table_value(&source, table.get_ref()) });
    }
    let fault = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        Fault::new(&Place::within(&source, at), error.message().replace('\n', "; "))
    };
    let mut faults: Vec<Fault> = errors.into_iter().map(fault).collect();
    faults.sort_by_key(|fault| fault.place.at);
    Err(faults)
}

fn table_value(source: &Arc<Source>, table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        place: Place::within(source, key.span().start),
        node: node(source, value),
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.sort_by_key(|entry| entry.place.at);
    Value::Table(entries)
}

fn node(source: &Arc<Source>, value: &Spanned<DeValue<'_>>) -> Node {
    let place = Place::within(source, value.span().start);
    let scalar = |value: toml::Value| Value::Scalar(value);
    let value = match value.get_ref() {
        DeValue::String(text) => scalar(toml::Value::String(text.to_string())),
        DeValue::Integer(number) => match i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
            Ok(number) => scalar(toml::Value::Integer(number)),
            Err(_) => scalar(toml::Value::String(number.as_str().to_owned())),
        },
        DeValue::Float(number) => {
            scalar(toml::Value::Float(number.as_str().replace('_', "").parse().unwrap_or(f64::NAN)))
        }
        DeValue::Boolean(flag) => scalar(toml::Value::Boolean(*flag)),
        DeValue::Datetime(time) => scalar(toml::Value::Datetime(*time)),
        DeValue::Array(elements) => Value::Array(elements.iter().map(|element| node(source, element)).collect()),
        DeValue::Table(table) => table_value(source, table),
    };
    Node { place, value }
}
