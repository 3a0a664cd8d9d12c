//! What must hold within one `[[upstream]]`.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::{
    mail::without_login,
    tree::Step,
    upstream::{BELONGS, Feedback, Kind, NextHop, Settings, Tls},
};

use super::Checker;

/// Characters of a configuration set's or a tenant's name (SES API, CreateConfigurationSet and CreateTenant).
const NAME_MAX: usize = 64;
/// Characters of a tag's name or value (SES API, MessageTag).
const TAG_MAX: usize = 256;
/// The tag that is ours.
const ID_TAG: &str = "headgate-id";

/// One upstream under the eyes of the checker.
struct One<'c, 'a> {
    checker: &'c mut Checker<'a>,
    index: usize,
    upstream: &'c Settings,
}

pub(super) fn check(checker: &mut Checker<'_>, index: usize, upstream: &Settings) {
    let mut one = One { checker, index, upstream };
    one.kind();
    one.times();
    one.for_ses();
    match upstream.kind {
        Kind::Ses => one.ses(),
        Kind::Smtp => one.smtp(),
        Kind::Outbox if upstream.path.as_os_str().is_empty() => {
            one.fault("path", "an outbox needs the path of its Maildir")
        }
        Kind::Outbox => {}
    }
}

impl One<'_, '_> {
    fn fault(&mut self, key: &str, message: &str) {
        self.checker.fault(&["upstream".into(), self.index.into(), key.into()], message);
    }

    /// Settings that are given and belong to another kind.
    fn kind(&mut self) {
        let kind = self.upstream.kind;
        for (key, kinds) in self.given().into_iter().filter(|(_, kinds)| !kinds.contains(&kind)) {
            let words: Vec<String> = kinds.iter().map(|kind| format!("{:?}", kind.word())).collect();
            self.fault(key, &format!("{key} belongs to kind = {}", words.join(" or ")));
        }
        let for_ses = self.given().into_iter().filter(|(_, kinds)| kinds.len() > 1);
        if kind == Kind::Smtp && !self.upstream.is_ses() {
            for (key, _) in for_ses {
                let text =
                    format!("{key} is for SES; if its SMTP endpoint stands at this address, write service = \"ses\"");
                self.fault(key, &text);
            }
        }
    }

    /// Those of [`BELONGS`] that are not as by default.
    fn given(&self) -> Vec<(&'static str, &'static [Kind])> {
        let json = |settings: &Settings| serde_json::to_value(settings).unwrap_or(Json::Null);
        let (own, default) = (json(self.upstream), json(&Settings::default()));
        BELONGS.iter().filter(|(key, _)| own.get(key) != default.get(key)).copied().collect()
    }

    fn times(&mut self) {
        let health = self.upstream.health;
        if self.upstream.attempt_timeout.0.is_zero() {
            self.fault("attempt_timeout", "more than no time is needed");
        }
        let wrong = [
            ("interval", health.interval.0.is_zero(), "more than no time is needed"),
            ("rise", health.rise == 0, "at least 1 is needed"),
            ("fall", health.fall == 0, "at least 1 is needed"),
        ];
        for (key, _, text) in wrong.into_iter().filter(|(_, wrong, _)| *wrong) {
            let path: [Step; 4] = ["upstream".into(), self.index.into(), "health".into(), key.into()];
            self.checker.fault(&path, text);
        }
    }

    /// What SES would refuse with each message.
    fn for_ses(&mut self) {
        let upstream = self.upstream;
        for (key, name) in [("configuration_set", &upstream.configuration_set), ("tenant", &upstream.tenant)] {
            if !name.is_empty() && !is_word(name, NAME_MAX) {
                let text = format!("{name:?} is no name; it has letters, digits, _ and -, at most {NAME_MAX} of them");
                self.fault(key, &text);
            }
        }
        for (key, arn) in [
            ("from_identity_arn", &upstream.from_identity_arn),
            ("feedback_identity_arn", &upstream.feedback_identity_arn),
        ] {
            if !arn.is_empty() && !is_arn(arn, ":identity/") {
                let right = "arn:aws:ses:eu-west-1:123456789012:identity/example.com";
                self.fault(key, &format!("{arn:?} is no ARN of an identity, such as {right}"));
            }
        }
        for (name, value) in &upstream.tags {
            let path: [Step; 4] = ["upstream".into(), self.index.into(), "tags".into(), name.as_str().into()];
            if name == ID_TAG {
                self.checker.fault(&path, "this tag is headgate's own: the id of the message");
            } else if !is_word(name, TAG_MAX) || !is_word(value, TAG_MAX) {
                let text = format!(
                    "{name:?} = {value:?} is no tag; name and value have letters, digits, _ and -, at most {TAG_MAX} of them"
                );
                self.checker.fault(&path, &text);
            }
        }
        let list = &upstream.list_management;
        if !list.is_empty() && !is_list(list) {
            self.fault("list_management", &format!("{list:?} is not as in \"customers\" or \"customers; topic=news\""));
        }
    }

    fn ses(&mut self) {
        let Settings { endpoint_url, role_arn, external_id, .. } = self.upstream;
        if !endpoint_url.is_empty() && !is_url(endpoint_url) {
            let url = without_login(endpoint_url);
            let text = format!("{url:?} is no URL, such as https://email.eu-west-1.amazonaws.com");
            self.fault("endpoint_url", &text);
        } else if let Cow::Owned(url) = without_login(endpoint_url) {
            let text = format!("{url:?}: SES takes no login in a URL; credentials are those of the AWS environment");
            self.fault("endpoint_url", &text);
        }
        if !role_arn.is_empty() && !is_arn(role_arn, ":role/") {
            let text = format!("{role_arn:?} is no ARN of a role, such as arn:aws:iam::123456789012:role/mail");
            self.fault("role_arn", &text);
        }
        if role_arn.is_empty() && !external_id.is_empty() {
            self.fault("external_id", "an external id goes with a role_arn");
        }
    }

    fn smtp(&mut self) {
        let hop = match NextHop::parse(&self.upstream.address) {
            Ok(hop) => Some(hop),
            Err(error) => {
                self.fault("address", &error);
                None
            }
        };
        let upstream = self.upstream;
        if upstream.feedback == Feedback::None {
            self.fault("feedback", "by SMTP there is always a sender; write \"sender\" or an address");
        }
        if upstream.tls == Tls::None && !upstream.ca_file.as_os_str().is_empty() {
            self.fault("ca_file", "it is for TLS, and tls is \"none\"");
        }
        self.login(hop.is_some_and(|hop| hop.is_loopback()));
    }

    fn login(&mut self, loopback: bool) {
        let upstream = self.upstream;
        let (text, file) = (!upstream.password.is_empty(), !upstream.password_file.as_os_str().is_empty());
        match (upstream.username.is_empty(), text, file) {
            (_, true, true) => self.fault("password", "write password or password_file, not both"),
            (true, true, _) => self.fault("password", "a password goes with a username"),
            (true, _, true) => self.fault("password_file", "a password goes with a username"),
            (false, false, false) => self.fault("username", "a username goes with a password_file or a password"),
            (false, ..) if upstream.tls == Tls::None && !loopback => {
                self.fault("tls", "the password would be readable on the way; write \"starttls\" or \"implicit\"");
            }
            _ => {}
        }
    }
}

fn is_word(text: &str, max: usize) -> bool {
    let legal = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-');
    !text.is_empty() && text.len() <= max && text.bytes().all(legal)
}

fn is_arn(text: &str, part: &str) -> bool {
    let legal = text.bytes().all(|octet| octet.is_ascii_graphic());
    legal && text.starts_with("arn:") && text.split_once(part).is_some_and(|(_, name)| !name.is_empty())
}

/// `LIST` or `LIST; topic=TOPIC`.
fn is_list(text: &str) -> bool {
    let (list, topic) = text.split_once(';').map_or((text, None), |(list, topic)| (list, Some(topic.trim())));
    let topic =
        topic.is_none_or(|topic| topic.strip_prefix("topic=").is_some_and(|topic| is_word(topic.trim(), NAME_MAX)));
    topic && is_word(list.trim(), NAME_MAX)
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        rest.starts_with(|one: char| one.is_ascii_alphanumeric() || one == '[') && !rest.contains([' ', '\t'])
    })
}
