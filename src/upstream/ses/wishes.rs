//! What is asked of SES besides the message: by a rule, by an `X-SES-` field that a rule kept, by the settings; the first
//! of these that speaks counts.
//!
//! The fields and their parameters are those of the SES developer guide, "Sending raw email", and of the SendEmail
//! page of its API reference. By the API the fields become parameters and leave the message; by SMTP they stay, and what
//! rules and settings ask for is written as such fields.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::{
    header::{self, FieldName, Header},
    mail::{Id, Message, Options},
    upstream::Settings,
};

/// The name of the tag that carries the transaction's id into SES's events. Nobody else can set it.
const ID_TAG: &str = "headgate-id";
/// `a=b, c=d`.
const TAGS: &str = "X-SES-MESSAGE-TAGS";

/// What is asked of SES for one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::upstream) struct Wishes {
    pub configuration_set: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub from_identity_arn: Option<String>,
    pub feedback_identity_arn: Option<String>,
    /// `LIST` or `LIST; topic=TOPIC`.
    pub list_management: Option<String>,
    pub tenant: Option<String>,
}

type Slot = fn(&mut Wishes) -> &mut Option<String>;

/// The fields with one value. Of the two that name the identity in From, the API has one parameter; X-SES-FROM-ARN is
/// the one that is about From.
const FIELDS: &[(&str, Slot)] = &[
    ("X-SES-CONFIGURATION-SET", |wishes| &mut wishes.configuration_set),
    ("X-SES-FROM-ARN", |wishes| &mut wishes.from_identity_arn),
    ("X-SES-SOURCE-ARN", |wishes| &mut wishes.from_identity_arn),
    ("X-SES-RETURN-PATH-ARN", |wishes| &mut wishes.feedback_identity_arn),
    ("X-SES-LIST-MANAGEMENT-OPTIONS", |wishes| &mut wishes.list_management),
    ("X-SES-TENANT", |wishes| &mut wishes.tenant),
];

impl Wishes {
    /// Those of the settings.
    pub fn of_settings(settings: &Settings) -> Self {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self {
            configuration_set: given(&settings.configuration_set),
            tags: settings.tags.clone(),
            from_identity_arn: given(&settings.from_identity_arn),
            feedback_identity_arn: given(&settings.feedback_identity_arn),
            list_management: given(&settings.list_management),
            tenant: given(&settings.tenant),
        }
    }

    /// Those of the rules.
    pub fn of_rules(options: Options) -> Self {
        Self {
            configuration_set: options.configuration_set,
            tags: options.tags,
            from_identity_arn: options.from_identity_arn,
            list_management: options.list_management,
            ..Self::default()
        }
    }

    /// These, and the others where these ask for nothing.
    fn or(mut self, others: &Self) -> Self {
        let mut others = others.clone();
        for (_, slot) in FIELDS {
            let other = slot(&mut others).clone();
            let own = slot(&mut self);
            *own = own.take().or(other);
        }
        for (name, value) in others.tags {
            self.tags.entry(name).or_insert(value);
        }
        self
    }

    fn with_id(mut self, id: Id) -> Self {
        self.tags.insert(ID_TAG.to_owned(), id.to_string());
        self
    }

    /// All wishes for a message, and the message without its `X-SES-` fields that are wishes.
    pub fn take(rules: Self, settings: &Self, (id, message): (Id, Bytes)) -> (Self, Bytes) {
        let Message { head, rest } = header::split(&message);
        let mut header = Header::parse(&head);
        let mut fields = Self { tags: take_tags(&mut header), ..Self::default() };
        for (name, slot) in FIELDS {
            let value = take(&mut header, name);
            let own = slot(&mut fields);
            *own = own.take().or(value);
        }
        let message = if header.is_edited() { whole(&header, &rest) } else { message };
        (rules.or(&fields).or(settings).with_id(id), message)
    }

    /// The message with all wishes as `X-SES-` fields; those that it has already stay where no rule asks for another.
    pub fn write(rules: Self, settings: &Self, (id, message): (Id, Bytes)) -> Bytes {
        let Message { head, rest } = header::split(&message);
        let mut header = Header::parse(&head);
        let (mut asked, mut defaults) = (rules, settings.clone());
        for (name, slot) in FIELDS {
            let present = header.find(name).next().is_some();
            let value = match (slot(&mut asked).clone(), present) {
                (Some(value), _) => value,
                (None, true) => continue,
                (None, false) => slot(&mut defaults).clone().unwrap_or_default(),
            };
            take(&mut header, name);
            append(&mut header, name, &value);
        }
        let fields = Self { tags: take_tags(&mut header), ..Self::default() };
        let tags = asked.or(&fields).or(&defaults).with_id(id).tags;
        let tags: Vec<String> = tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        append(&mut header, TAGS, &tags.join(", "));
        whole(&header, &rest)
    }
}

fn whole(header: &Header, rest: &Bytes) -> Bytes {
    let head = header.finish();
    let mut whole = BytesMut::with_capacity(head.len() + rest.len());
    whole.extend_from_slice(&head);
    whole.extend_from_slice(rest);
    whole.freeze()
}

/// Takes the fields of that name out; the value of the first that has one.
fn take(header: &mut Header, name: &str) -> Option<String> {
    let found: Vec<usize> = header.find(name).collect();
    let value = |at: &usize| String::from_utf8_lossy(&header.unfolded(*at)).trim().to_owned();
    let value = found.iter().map(value).find(|value| !value.is_empty());
    found.into_iter().for_each(|at| header.remove(at));
    value
}

/// Takes the tags out. What is no tag goes to SES as it is, which says so.
fn take_tags(header: &mut Header) -> BTreeMap<String, String> {
    let text = take(header, TAGS).unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.trim().to_owned(), value.trim().to_owned())
        })
        .collect()
}

fn append(header: &mut Header, name: &str, value: &str) {
    if let Ok(name) = FieldName::parse(name)
        && !value.is_empty()
    {
        header.append(&name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "From: a@example.com\r\nX-SES-Configuration-Set: own\r\nX-Ses-Message-Tags: a=1,\r\n b=2, headgate-id=x\r\nSubject:  folded\r\n\there\r\nX-SES-TENANT: t\r\nX-SES-Other: y\r\n\r\n.body\n";

    fn settings() -> Wishes {
        Wishes {
            configuration_set: Some("default".to_owned()),
            tags: [("b", "3"), ("c", "4")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            list_management: Some("list; topic=t".to_owned()),
            from_identity_arn: Some("arn:1".to_owned()),
            ..Wishes::default()
        }
    }

    fn rules() -> Wishes {
        let tags = [("a".to_owned(), "0".to_owned())].into();
        Wishes { configuration_set: Some("ruled".to_owned()), tags, ..Wishes::default() }
    }

    fn tags(wishes: &Wishes) -> String {
        wishes.tags.iter().map(|(name, value)| format!("{name}={value} ")).collect()
    }

    #[test]
    fn a_rule_wins_over_a_field_and_a_field_over_the_settings() {
        let id = Id::nil();
        let (wishes, message) = Wishes::take(rules(), &settings(), (id, Bytes::from(MAIL)));
        assert_eq!(wishes.configuration_set.as_deref(), Some("ruled"));
        assert_eq!(tags(&wishes), format!("a=0 b=2 c=4 headgate-id={id} "));
        assert_eq!(wishes.tenant.as_deref(), Some("t"));
        assert_eq!(wishes.list_management.as_deref(), Some("list; topic=t"));
        assert_eq!(message, "From: a@example.com\r\nSubject:  folded\r\n\there\r\nX-SES-Other: y\r\n\r\n.body\n");
        let (wishes, _) = Wishes::take(Wishes::default(), &settings(), (id, Bytes::from(MAIL)));
        assert_eq!(wishes.configuration_set.as_deref(), Some("own"));
    }

    #[test]
    fn without_such_a_field_the_message_is_the_very_same() {
        let message = Bytes::from("From: a@example.com\r\nX-SES: y\r\n\r\nbody\r\n");
        let (_, same) = Wishes::take(rules(), &settings(), (Id::nil(), message.clone()));
        assert_eq!(same.as_ptr(), message.as_ptr());
    }

    #[test]
    fn from_arn_wins_over_source_arn() {
        let mail = "X-SES-SOURCE-ARN: arn:2\r\nX-SES-FROM-ARN: arn:3\r\nX-SES-FROM-ARN: arn:4\r\n\r\n";
        let (wishes, rest) = Wishes::take(Wishes::default(), &settings(), (Id::nil(), Bytes::from(mail)));
        assert_eq!((wishes.from_identity_arn.as_deref(), &rest[..]), (Some("arn:3"), &b"\r\n"[..]));
    }

    #[test]
    fn by_smtp_wishes_are_fields() {
        let id = Id::nil();
        let written = Wishes::write(rules(), &settings(), (id, Bytes::from(MAIL)));
        let expected = format!(
            "From: a@example.com\r\nSubject:  folded\r\n\there\r\nX-SES-TENANT: t\r\nX-SES-Other: y\r\n\
             X-SES-CONFIGURATION-SET: ruled\r\nX-SES-FROM-ARN: arn:1\r\nX-SES-SOURCE-ARN: arn:1\r\n\
             X-SES-LIST-MANAGEMENT-OPTIONS: list; topic=t\r\n\
             X-SES-MESSAGE-TAGS: a=0, b=2, c=4, headgate-id={id}\r\n\r\n.body\n"
        );
        assert_eq!(String::from_utf8_lossy(&written), expected);
        let kept = Wishes::write(Wishes::default(), &settings(), (id, Bytes::from(MAIL)));
        assert!(kept.starts_with(b"From: a@example.com\r\nX-SES-Configuration-Set: own\r\nSubject:"));
    }
}
