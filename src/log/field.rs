//! The fields of a record by name: for `%{name}x` and for JSON.

use serde_json::{Value, json};

use super::Record;

/// One field.
pub struct FieldRow {
    /// Its name in `%{name}x`; in JSON its dashes are underscores.
    pub name: &'static str,
    /// What it tells.
    pub doc: &'static str,
    /// Whether it may hold a blank, so that a LogFormat has to put it in quotes.
    pub words: bool,
    pub(super) value: fn(&Record) -> Value,
}

impl std::fmt::Debug for FieldRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn row(name: &'static str, doc: &'static str, value: fn(&Record) -> Value) -> FieldRow {
    FieldRow { name, doc, words: false, value }
}

/// All fields, in the order of JSON.
pub const FIELDS: &[FieldRow] = &[
    row("event", "message, attempt or session", |record| json!(record.event.word())),
    row("time", "the end of the transaction (RFC 3339)", |record| {
        json!(record.time.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string())
    }),
    row("client", "the client's address", |record| json!(record.client)),
    row("login", "the authenticated name", |record| json!(record.login)),
    row("user", "the user a rule named, else the login", |record| json!(record.whom())),
    row("user-source", "where the user comes from: rule or login", |record| {
        let by_login = record.login.as_ref().map(|_| "login");
        json!(record.user.as_ref().map(|_| "rule").or(by_login))
    }),
    FieldRow { name: "request", doc: "the envelope", words: true, value: |record| json!(record.request) },
    row("status", "the SMTP code", |record| json!(record.status)),
    row("outcome", "queued, held, delivered, deferred, failed, expired, refused, discarded or aborted", |record| {
        json!(record.outcome)
    }),
    FieldRow {
        name: "reason",
        doc: "why, in the words of whoever decided",
        words: true,
        value: |record| json!(record.reason),
    },
    row("size", "octets received", |record| json!(record.size)),
    row("id", "the id of the transaction", |record| json!(record.id.to_string())),
    row("ses-id", "SES's id of the message", |record| json!(record.ses_id)),
    row("upstream", "the upstream that was asked", |record| json!(record.upstream)),
    row("recipients", "how many recipients", |record| json!(record.recipients)),
    row("rules", "how many changes the rules made", |record| json!(record.rules)),
    row("tls", "the version of TLS", |record| json!(record.tls)),
    row("duration-ms", "milliseconds from MAIL to the end", |record| {
        json!(u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX))
    }),
    row("env", "the variables that rules set", |record| json!(record.env)),
    row("header", "header fields as they came in", |record| {
        Value::Object(record.header.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
    }),
];

/// The field of that name.
pub(super) fn find(name: &str) -> Option<&'static FieldRow> {
    FIELDS.iter().find(|row| row.name == name)
}

/// A value as a word for a line; `-` for nothing.
pub(super) fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
