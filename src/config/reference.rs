//! `headgate config reference`: every setting with its default and what it does, made from the types themselves.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::Settings;

/// A settings file that sets everything to its default, with a comment above each line.
pub fn reference() -> String {
    let schema = schemars::schema_for!(Settings).to_value();
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut text = String::from("# Every setting of headgate with its default.\n");
    let properties = schema.get("properties").and_then(Json::as_object);
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

fn section(text: &mut String, root: &Json, property: Property<'_>) {
    let description = describe(root, property.schema);
    match property.default {
        Json::Object(keys) => {
            let _ = writeln!(text, "\n# {description}\n[{}]", property.name);
            table(text, root, (resolved(root, property.schema), keys));
        }
        Json::Array(elements) if elements.first().is_some_and(Json::is_object) => {
            let _ = writeln!(text, "\n# {description}\n[[{}]]", property.name);
            let items = property.schema.get("items").unwrap_or(&Json::Null);
            if let Some(Json::Object(keys)) = elements.first() {
                table(text, root, (resolved(root, items), keys));
            }
        }
        default => line(text, &description, (property.name, default)),
    }
}

fn table(text: &mut String, root: &Json, (schema, keys): (&Json, &serde_json::Map<String, Json>)) {
    for (name, default) in keys {
        let property = schema.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&Json::Null);
        line(text, &describe(root, property), (name, default));
    }
}

fn line(text: &mut String, description: &str, (name, default): (&str, &Json)) {
    let value = match default {
        Json::Object(_) => "{}".to_owned(),
        other => other.to_string().replace(',', ", "),
    };
    let _ = writeln!(text, "# {description}\n{name} = {value}");
}

fn describe(root: &Json, schema: &Json) -> String {
    let own = schema.get("description").or_else(|| resolved(root, schema).get("description"));
    let text = own.and_then(Json::as_str).unwrap_or_default().replace('\n', " ");
    let variants = variants(resolved(root, schema));
    if variants.is_empty() { text } else { format!("{text} One of: {}.", variants.join(", ")) }
}

fn variants(schema: &Json) -> Vec<String> {
    let listed = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    let described =
        schema.get("oneOf").and_then(Json::as_array).into_iter().flatten().filter_map(|one| one.get("const"));
    listed.chain(described).filter_map(Json::as_str).map(str::to_owned).collect()
}

fn resolved<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let name = schema.get("$ref").and_then(Json::as_str).and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
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
