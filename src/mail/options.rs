//! What a rule may ask of the upstream for one message.

use std::collections::BTreeMap;

/// Wishes for an attempt; each overrides the upstream's own setting.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Options {
    /// The upstream that has to take it.
    pub upstream: Option<String>,
    /// Recipients that another upstream has to take, as `local@domain`, and which.
    pub routes: BTreeMap<String, String>,
    /// SES: the configuration set.
    pub configuration_set: Option<String>,
    /// SES: tags for its events; names and values are `[A-Za-z0-9_-]`, at most 256 of them.
    pub tags: BTreeMap<String, String>,
    /// SES: the ARN of the identity whose policy lets us send.
    pub from_identity_arn: Option<String>,
    /// SES: the contact list, and perhaps `list; topic=NAME`.
    pub list_management: Option<String>,
}
