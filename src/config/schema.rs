//! The schema that schemars makes of the settings' types: what a value has to look like, and what its doc comment says.

use serde_json::Value as Json;

use super::Settings;

/// The schema of all settings.
pub(super) struct Schema(Json);

impl Schema {
    pub(super) fn of_settings() -> Self {
        Self(schemars::schema_for!(Settings).to_value())
    }

    pub(super) fn root(&self) -> &Json {
        &self.0
    }

    /// What a reference leads to, else the schema itself.
    pub(super) fn resolved<'s>(&'s self, schema: &'s Json) -> &'s Json {
        let reference = schema.get("$ref").and_then(Json::as_str);
        let name = reference.and_then(|reference| reference.rsplit('/').next());
        name.and_then(|name| self.0.get("$defs")?.get(name)).unwrap_or(schema)
    }

    /// The schema of a property; maps take any name.
    pub(super) fn property<'s>(&'s self, schema: &'s Json, name: &str) -> Option<&'s Json> {
        let schema = self.resolved(schema);
        let named = schema.get("properties").and_then(|properties| properties.get(name));
        named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
    }

    /// The schema of an array's elements.
    pub(super) fn element<'s>(&'s self, schema: &'s Json) -> Option<&'s Json> {
        self.resolved(schema).get("items")
    }

    /// The schema of an array's elements, when these are tables.
    pub(super) fn element_table<'s>(&'s self, schema: &'s Json) -> Option<&'s Json> {
        let items = self.element(schema)?;
        self.resolved(items).get("properties").map(|_| items)
    }

    /// `string`, `integer`, `array`, `object`, …
    pub(super) fn kind<'s>(&'s self, schema: &'s Json) -> &'s str {
        self.resolved(schema).get("type").and_then(Json::as_str).unwrap_or("string")
    }

    /// The doc comment, and the words that an enum takes.
    pub(super) fn described(&self, schema: &Json) -> String {
        let own = schema.get("description").or_else(|| self.resolved(schema).get("description"));
        let text = own.and_then(Json::as_str).unwrap_or_default().replace('\n', " ");
        let words = words(self.resolved(schema));
        if words.is_empty() { text } else { format!("{text} One of: {}.", words.join(", ")) }
    }
}

fn words(schema: &Json) -> Vec<String> {
    let listed = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    let described = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    listed.chain(described.filter_map(|one| one.get("const"))).filter_map(Json::as_str).map(str::to_owned).collect()
}
