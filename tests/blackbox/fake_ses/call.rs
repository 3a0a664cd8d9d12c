//! One send call as it was recorded, with a small reader of its message. It must not know how it came in.

use bytes::Bytes;
use serde_json::Value;

use super::answer::Refusal;
use super::fields;

/// A SendEmail call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// From 1, in the order in which the heads of the requests arrived; calls that were never read have one too.
    pub number: u64,
    /// The path of the request, with whatever stood in front of `/v2`.
    pub path: String,
    /// Destination.ToAddresses.
    pub to: Vec<String>,
    /// Destination.CcAddresses.
    pub cc: Vec<String>,
    /// Destination.BccAddresses.
    pub bcc: Vec<String>,
    /// FeedbackForwardingEmailAddress.
    pub feedback: Option<String>,
    /// FromEmailAddress, which would replace the message's From.
    pub from_email_address: Option<String>,
    /// ConfigurationSetName.
    pub configuration_set: Option<String>,
    /// EmailTags, name and value.
    pub tags: Vec<(String, String)>,
    /// The request's JSON without Content: for the parameters that have no field here.
    pub request: Value,
    /// Content.Raw.Data, decoded; empty when bodies are not kept.
    pub raw: Bytes,
    /// The access key of the Authorization; empty when there was none.
    pub access_key: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Not answered yet: delayed, or hanging.
    #[default]
    Pending,
    /// SES took the message.
    Accepted {
        /// The MessageId.
        message_id: String,
        /// Whether an answer was sent; a cut after acceptance sends none.
        told: bool,
    },
    /// Answered with an error.
    Refused(Refusal),
    /// Read whole and cut without an answer: the client cannot know that nothing was accepted.
    Ambiguous,
}

impl Call {
    /// All destinations, To before Cc before Bcc.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.to, &self.cc, &self.bcc];
        lists.into_iter().flatten().map(String::as_str)
    }

    /// Whether SES took the message.
    pub fn is_accepted(&self) -> bool {
        matches!(self.fate, Fate::Accepted { .. })
    }

    /// The MessageId of an accepted call.
    pub fn message_id(&self) -> Option<&str> {
        match &self.fate {
            Fate::Accepted { message_id, .. } => Some(message_id),
            _ => None,
        }
    }

    /// The error of a refused call.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.fate {
            Fate::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The HTTP status that was sent, if any was.
    pub fn status(&self) -> Option<u16> {
        match &self.fate {
            Fate::Accepted { told: true, .. } => Some(200),
            Fate::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// The value of the tag of this name.
    pub fn tag(&self, name: &str) -> Option<&str> {
        let mut tags = self.tags.iter();
        tags.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The values of all header fields of this name (compared without case), unfolded and without outer blanks.
    /// Octets that are not UTF-8 come as U+FFFD.
    pub fn header(&self, name: &str) -> Vec<String> {
        let (fields, _) = fields::split(&self.raw);
        fields.iter().filter(|field| field.is_named(name)).map(fields::Field::value).collect()
    }

    /// The names of all header fields as written, in order; a line without a colon has none.
    pub fn header_names(&self) -> Vec<String> {
        let (fields, _) = fields::split(&self.raw);
        let names = fields.iter().filter_map(fields::Field::name);
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// What follows the first empty line.
    pub fn body(&self) -> &[u8] {
        fields::split(&self.raw).1
    }
}
