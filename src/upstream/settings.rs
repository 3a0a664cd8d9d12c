//! `[[upstream]]`: what can be set, and for which kind.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::mail::{Period, Secret};

use super::{Feedback, Rate, smtp::NextHop};

/// `[[upstream]]`: where mail goes.
#[derive(Clone, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Its name in the log and in rules.
    pub name: String,
    /// ses: Amazon SES by its API; smtp: a mail server, also the SMTP endpoint of SES; outbox: a Maildir, for trying out
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
    /// ses, or smtp to SES: the configuration set that a message is sent with when neither a rule nor its own
    /// X-SES-CONFIGURATION-SET names one.
    pub configuration_set: String,
    /// ses, or smtp to SES: tags for its events, behind those of rules and of X-SES-MESSAGE-TAGS; names and values have
    /// letters, digits, _ and -, at most 256 of them.
    pub tags: BTreeMap<String, String>,
    /// ses, or smtp to SES: the ARN of the identity in From whose policy lets us send.
    pub from_identity_arn: String,
    /// ses, or smtp to SES: the ARN of the identity that SES reports to, when another account has it.
    pub feedback_identity_arn: String,
    /// ses, or smtp to SES: the contact list for unsubscribe links, as `LIST` or `LIST; topic=TOPIC`.
    pub list_management: String,
    /// ses, or smtp to SES: the tenant that mail is sent for.
    pub tenant: String,
    /// ses, or smtp to SES: where SES sends its bounces and complaints: sender (the envelope's, else what `[bounce] from`
    /// says), none (as the identity is set up; not by smtp), or a verified address.
    pub feedback: Feedback,
    /// smtp: host and port, such as email-smtp.eu-west-1.amazonaws.com:587 or `[2001:db8::1]:25`.
    pub address: String,
    /// smtp: what stands there: ses takes SES's options as X-SES- fields and is judged as SES, other is not; auto takes
    /// a host of email-smtp….amazonaws.com for SES.
    pub service: Service,
    /// smtp: none, starttls (never without), or implicit; auto is implicit on the ports 465 and 2465, else starttls.
    pub tls: Tls,
    /// smtp: certificates of authorities in PEM, trusted in the place of the system's.
    pub ca_file: PathBuf,
    /// smtp: the login, by AUTH PLAIN or LOGIN; empty for none.
    pub username: String,
    /// smtp: its password; better in a file.
    pub password: Secret,
    /// smtp: a file with the password, read anew at each login; its last line end does not count.
    pub password_file: PathBuf,
    /// outbox: the folder of the Maildir; made if it is not there.
    pub path: PathBuf,
    /// Recipients a second, such as 14 or 0.5; auto is what SES grants the account, felt for from 10 where SES does not
    /// say, and no limit for any other upstream.
    pub rate: Rate,
    /// How often it is looked at (`interval`), after how many good looks in a row it gets mail again (`rise`), and after
    /// how many bad ones it gets none (`fall`).
    pub health: Health,
    /// Its share of the mail among several upstreams.
    pub weight: u32,
    /// What becomes of a message that the upstream would refuse: refuse, warn (in the log) or off.
    pub lint: LintMode,
    /// ses, smtp: how long one attempt may take in all.
    pub attempt_timeout: Period,
}

/// Which kinds a setting is for; one that is not named is for all.
pub const BELONGS: &[(&str, &[Kind])] = &[
    ("region", &[Kind::Ses]),
    ("endpoint_url", &[Kind::Ses]),
    ("profile", &[Kind::Ses]),
    ("role_arn", &[Kind::Ses]),
    ("external_id", &[Kind::Ses]),
    ("configuration_set", &[Kind::Ses, Kind::Smtp]),
    ("tags", &[Kind::Ses, Kind::Smtp]),
    ("from_identity_arn", &[Kind::Ses, Kind::Smtp]),
    ("feedback_identity_arn", &[Kind::Ses, Kind::Smtp]),
    ("list_management", &[Kind::Ses, Kind::Smtp]),
    ("tenant", &[Kind::Ses, Kind::Smtp]),
    ("feedback", &[Kind::Ses, Kind::Smtp]),
    ("address", &[Kind::Smtp]),
    ("service", &[Kind::Smtp]),
    ("tls", &[Kind::Smtp]),
    ("ca_file", &[Kind::Smtp]),
    ("username", &[Kind::Smtp]),
    ("password", &[Kind::Smtp]),
    ("password_file", &[Kind::Smtp]),
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
            address: String::new(),
            service: Service::Auto,
            tls: Tls::Auto,
            ca_file: PathBuf::new(),
            username: String::new(),
            password: Secret::default(),
            password_file: PathBuf::new(),
            path: PathBuf::new(),
            rate: Rate::Auto,
            health: Health::default(),
            weight: 1,
            lint: LintMode::Refuse,
            attempt_timeout: Period::seconds(60),
        }
    }
}

impl Settings {
    /// Whether the mail goes to SES, or is judged as if it did.
    pub fn is_ses(&self) -> bool {
        match (self.kind, self.service) {
            (Kind::Ses | Kind::Outbox, _) | (Kind::Smtp, Service::Ses) => true,
            (Kind::Smtp, Service::Other) => false,
            (Kind::Smtp, Service::Auto) => NextHop::parse(&self.address).is_ok_and(|hop| hop.is_ses()),
        }
    }
}

/// The kinds of upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Amazon SES, by `SendEmail` of its API version 2.
    Ses,
    /// A mail server, by SMTP.
    Smtp,
    /// A Maildir.
    Outbox,
}

impl Kind {
    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ses => "ses",
            Self::Smtp => "smtp",
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

/// What speaks SMTP at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// The host's name says.
    Auto,
    /// The SMTP endpoint of SES.
    Ses,
    /// Any mail server.
    Other,
}

/// How a connection to a mail server is kept private.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// The port says.
    Auto,
    /// Not at all.
    None,
    /// By STARTTLS (RFC 3207); a server without it gets nothing.
    Starttls,
    /// From the first octet (RFC 8314 section 3.3).
    Implicit,
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
                Some([Kind::Smtp]) => &["smtp: "],
                Some([Kind::Outbox]) => &["outbox: "],
                Some(_) => &["ses, or smtp to SES: "],
                None => &["ses: Amazon SES by its API; ", "ses, smtp: ", "Its ", "Recipients ", "How ", "What "],
            };
            assert!(begins.iter().any(|begin| text.starts_with(begin)), "{name}: {text}");
        }
    }

    #[test]
    fn ses_is_known_by_its_name_or_by_the_setting() {
        let smtp = |address: &str, service| Settings {
            kind: Kind::Smtp,
            address: address.to_owned(),
            service,
            ..Settings::default()
        };
        for (address, service, expected) in [
            ("email-smtp.eu-west-1.amazonaws.com:587", Service::Auto, true),
            ("email-smtp-fips.us-east-1.amazonaws.com:465", Service::Auto, true),
            ("vpce-0a1b-abc.email-smtp.eu-west-1.vpce.amazonaws.com:587", Service::Auto, true),
            ("email-smtp.example.com:25", Service::Auto, false),
            ("email-smtp.eu-west-1.amazonaws.com:587", Service::Other, false),
            ("127.0.0.1:25", Service::Ses, true),
        ] {
            assert_eq!(smtp(address, service).is_ses(), expected, "{address} {service:?}");
        }
    }
}
