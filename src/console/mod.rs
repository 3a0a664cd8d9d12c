//! `[http]`: health and metrics.
//!
//! Requests come in, pages go out; it has no storage of its own.

mod router;

pub use router::{Pages, serve};

/// `[http]`: health and metrics.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address and port of /healthz, /readyz and /metrics; empty for none.
    pub address: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { address: "127.0.0.1:8025".to_owned() }
    }
}
