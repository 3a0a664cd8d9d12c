//! The access log: one line a transaction, in Apache's LogFormat or as JSON.
//!
//! Records go in, lines come out. No octet of a client can break a line or forge one, and a log that cannot be written
//! stops no mail. It knows no session, rule or upstream.

mod field;
mod format;
mod record;
mod sink;

pub use field::{FIELDS, FieldRow};
pub use format::{Format, FormatError};
pub use record::{Event, Record};
pub use sink::{AccessLog, Alarm, OpenError};

/// `[access_log]`: who sent what.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// stdout, off, or the path of a file, which is appended to and opened anew on SIGHUP.
    pub output: String,
    /// combined, combined-rt, json, or a LogFormat such as `%h %l %u %t "%r" %>s %b`.
    pub format: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { output: "stdout".to_owned(), format: "combined".to_owned() }
    }
}

/// `[log]`: what the program itself has to say, on stderr.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Diagnostics {
    /// error, warn, info, debug or trace.
    pub level: Level,
    /// text or json.
    pub format: Style,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self { level: Level::Info, format: Style::Text }
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Style {
    Text,
    Json,
}
