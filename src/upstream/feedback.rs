//! `feedback`: where SES sends bounces and complaints (SES developer guide, "Receiving Amazon SES notifications through
//! email").

use serde::{Deserialize, Serialize};

use crate::mail::{Address, Sender};

/// Where SES sends bounces and complaints.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Feedback {
    /// To the envelope's sender.
    Sender,
    /// As the identity is set up.
    None,
    /// To this address.
    To(Address),
}

impl TryFrom<String> for Feedback {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "sender" => Ok(Self::Sender),
            "none" => Ok(Self::None),
            other => Address::parse(other)
                .map(Self::To)
                .map_err(|error| format!("{other:?} is not \"sender\", \"none\" or an address: {error}")),
        }
    }
}

impl From<Feedback> for String {
    fn from(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Sender => "sender".to_owned(),
            Feedback::None => "none".to_owned(),
            Feedback::To(address) => address.to_string(),
        }
    }
}

impl Feedback {
    /// The address for mail of that sender, if there is one. `bounce` stands in for the null sender, since SES wants an
    /// address to report to; without it the reports go where the identity sends them.
    pub fn address(&self, sender: &Sender, bounce: Option<&Address>) -> Option<Address> {
        match self {
            Self::Sender => sender.0.clone().or_else(|| bounce.cloned()),
            Self::None => None,
            Self::To(address) => Some(address.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_go_to_the_sender_or_where_the_settings_say() {
        let address = |text: &str| Address::parse(text).unwrap();
        let (sender, null, bounce) = (Sender(Some(address("a@b.example"))), Sender(None), address("bounces@b.example"));
        let of = |text: &str, sender: &Sender, bounce| {
            let feedback = Feedback::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(feedback.clone()), text);
            feedback.address(sender, bounce).map(|address| address.to_string()).unwrap_or_default()
        };
        assert_eq!(of("sender", &sender, Some(&bounce)), "a@b.example");
        assert_eq!(of("sender", &null, Some(&bounce)), "bounces@b.example");
        assert_eq!(of("sender", &null, None), "");
        assert_eq!(of("none", &sender, Some(&bounce)), "");
        assert_eq!(of("c@b.example", &sender, Some(&bounce)), "c@b.example");
        assert_eq!(of("c@b.example", &null, None), "c@b.example");
        assert!(Feedback::try_from("nobody".to_owned()).is_err());
    }
}
