//! `[bounce]`: reports about mail that did not arrive. The reports themselves need the queue.

/// `[bounce]`: whom reports come from.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A verified address: where SES reports about mail with the null sender, for which SES still needs an address.
    pub from: String,
}
