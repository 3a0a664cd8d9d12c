//! `[bounce]`: reports about mail that did not arrive. The reports themselves need the queue.

use crate::mail::{Address, Sender};

/// `[bounce]`: whom reports come from.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A verified address: where SES reports about mail with the null sender, for which SES still needs an address.
    pub from: String,
}

/// The address SES reports to: the sender's, or for the null sender the one of the settings, if there is one.
pub fn feedback(sender: &Sender, bounce: Option<&Address>) -> Option<Address> {
    sender.0.clone().or_else(|| bounce.cloned())
}
