//! `headgate config reference`: every setting with its default and what it does, made from the types themselves.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Settings, schema::Schema};

/// A settings file that sets everything to its default, with a comment above each line.
pub fn reference() -> String {
    let schema = Schema::of_settings();
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut text = String::from("# Every setting of headgate with its default.\n");
    let properties = schema.root().get("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let default = defaults.get(name).unwrap_or(&Json::Null);
        section(&mut text, &schema, Property { name, schema: property, default });
    }
    text
}

#[derive(Clone, Copy)]
struct Property<'a> {
    name: &'a str,
    schema: &'a Json,
    default: &'a Json,
}

fn section(text: &mut String, known: &Schema, property: Property<'_>) {
    let description = known.described(property.schema);
    match property.default {
        Json::Object(keys) => {
            let _ = writeln!(text, "\n# {description}\n[{}]", property.name);
            table(text, known, (known.resolved(property.schema), keys));
        }
        Json::Array(elements) if elements.first().is_some_and(Json::is_object) => {
            let _ = writeln!(text, "\n# {description}\n[[{}]]", property.name);
            let items = property.schema.get("items").unwrap_or(&Json::Null);
            if let Some(Json::Object(keys)) = elements.first() {
                table(text, known, (known.resolved(items), keys));
            }
        }
        default => line(text, &description, (property.name, default)),
    }
}

fn table(text: &mut String, known: &Schema, (schema, keys): (&Json, &serde_json::Map<String, Json>)) {
    for (name, default) in keys {
        let property = schema.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&Json::Null);
        line(text, &known.described(property), (name, default));
    }
}

fn line(text: &mut String, description: &str, (name, default): (&str, &Json)) {
    let _ = writeln!(text, "# {description}\n{name} = {}", value(default));
}

fn value(default: &Json) -> String {
    match default {
        Json::Object(keys) if keys.is_empty() => "{}".to_owned(),
        Json::Object(keys) => {
            let pairs: Vec<String> =
                keys.iter().map(|(name, default)| format!("{name} = {}", value(default))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string().replace(',', ", "),
    }
}

#[cfg(test)]
mod tests {
    use crate::tree;

    use super::*;

    #[test]
    fn the_reference_is_a_settings_file_of_defaults() {
        let root = tree::parse("reference", &reference()).unwrap();
        let read: Settings = tree::read(&root).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(Settings::default()).unwrap());
    }

    #[test]
    fn every_setting_is_described() {
        assert!(!reference().lines().any(|line| line.trim() == "#"), "{}", reference());
    }
}
