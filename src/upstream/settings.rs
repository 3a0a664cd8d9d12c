//! `[[upstream]]`: what can be set, and for which kind.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::mail::Period;

use super::{Feedback, Rate};

/// `[[upstream]]`: where mail goes.
#[derive(Clone, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Its name in the log and in rules.
    pub name: String,
    /// ses: Amazon SES by its API; outbox: a Maildir, for trying out
    /// and for tests.
    pub kind: Kind,
    /// ses: the region, such as eu-west-1; without it the AWS environment, profile or role says.
    pub region: String,
    /// ses: another endpoint, `https://host` or `http://host:port/prefix`, for a private endpoint or an emulator.
    pub endpoint_url: String,
    /// ses: a profile of the AWS configuration files.
    pub profile: String,
    /// ses: the ARN of a role to take on, such as one in another account.
    pub role_arn: String,
    /// ses: the external id that the role asks for.
    pub external_id: String,
    /// ses: the configuration set that a message is sent with when neither a rule nor its own
    /// X-SES-CONFIGURATION-SET names one.
    pub configuration_set: String,
    /// ses: tags for its events, behind those of rules and of X-SES-MESSAGE-TAGS; names and values have
    /// letters, digits, _ and -, at most 256 of them.
    pub tags: BTreeMap<String, String>,
    /// ses: the ARN of the identity in From whose policy lets us send.
    pub from_identity_arn: String,
    /// ses: the ARN of the identity that SES reports to, when another account has it.
    pub feedback_identity_arn: String,
    /// ses: the contact list for unsubscribe links, as `LIST` or `LIST; topic=TOPIC`.
    pub list_management: String,
    /// ses: the tenant that mail is sent for.
    pub tenant: String,
    /// ses: where SES sends its bounces and complaints: sender (the envelope's, else what `[bounce] from`
    /// says), none (as the identity is set up), or a verified address.
    pub feedback: Feedback,
    /// outbox: the folder of the Maildir; made if it is not there.
    pub path: PathBuf,
    /// Recipients a second, such as 14 or 0.5; auto is what SES grants the account, felt for from 10 where nobody says.
    /// In direct mode the clients set the pace.
    pub rate: Rate,
    /// How often it is looked at (`interval`), after how many good looks in a row it gets mail again (`rise`), and after
    /// how many bad ones it gets none (`fall`); in queue mode.
    pub health: Health,
    /// Its share of the mail among several upstreams.
    pub weight: u32,
    /// What becomes of a message that the upstream would refuse: refuse, warn (in the log) or off.
    pub lint: LintMode,
    /// ses: how long one call may take.
    pub attempt_timeout: Period,
}

/// Which kinds a setting is for; one that is not named is for all.
pub const BELONGS: &[(&str, &[Kind])] = &[
    ("region", &[Kind::Ses]),
    ("endpoint_url", &[Kind::Ses]),
    ("profile", &[Kind::Ses]),
    ("role_arn", &[Kind::Ses]),
    ("external_id", &[Kind::Ses]),
    ("configuration_set", &[Kind::Ses]),
    ("tags", &[Kind::Ses]),
    ("from_identity_arn", &[Kind::Ses]),
    ("feedback_identity_arn", &[Kind::Ses]),
    ("list_management", &[Kind::Ses]),
    ("tenant", &[Kind::Ses]),
    ("feedback", &[Kind::Ses]),
    ("path", &[Kind::Outbox]),
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            kind: Kind::Ses,
            region: String::new(),
            endpoint_url: String::new(),
            profile: String::new(),
            role_arn: String::new(),
            external_id: String::new(),
            configuration_set: String::new(),
            tags: BTreeMap::new(),
            from_identity_arn: String::new(),
            feedback_identity_arn: String::new(),
            list_management: String::new(),
            tenant: String::new(),
            feedback: Feedback::Sender,
            path: PathBuf::new(),
            rate: Rate::Auto,
            health: Health::default(),
            weight: 1,
            lint: LintMode::Refuse,
            attempt_timeout: Period::seconds(60),
        }
    }
}

/// The kinds of upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Amazon SES, by `SendEmail` of its API version 2.
    Ses,
    /// A Maildir.
    Outbox,
}

impl Kind {
    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ses => "ses",
            Self::Outbox => "outbox",
        }
    }
}

/// What becomes of a message that an upstream would refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LintMode {
    /// The client is told.
    Refuse,
    /// The log is told, the upstream decides.
    Warn,
    /// It is not looked at.
    Off,
}

/// `health`: when an upstream counts as one that takes mail, with HAProxy's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// The time between two looks.
    pub interval: Period,
    /// Good looks in a row until it takes mail again.
    pub rise: u32,
    /// Bad looks in a row until it gets none.
    pub fall: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self { interval: Period::seconds(30), rise: 2, fall: 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_of_a_setting_names_its_kinds() {
        let schema = schemars::schema_for!(Settings).to_value();
        for (name, property) in schema["properties"].as_object().unwrap() {
            let text = property["description"].as_str().unwrap();
            let begins: &[&str] = match BELONGS.iter().find(|(known, _)| known == name).map(|(_, kinds)| *kinds) {
                Some([Kind::Ses]) => &["ses: "],
                Some([Kind::Outbox]) => &["outbox: "],
                Some(_) => &["ses: "],
                None => &["ses: Amazon SES by its API; ", "ses: how long ", "Its ", "Recipients ", "How ", "What "],
            };
            assert!(begins.iter().any(|begin| text.starts_with(begin)), "{name}: {text}");
        }
    }
}
