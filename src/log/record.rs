//! What a line tells.

use std::{collections::BTreeMap, fmt::Write as _, net::IpAddr, time::Duration};

use jiff::ZonedDateTime;

use crate::mail::{Address, Client, Envelope, Id, Outcome, Reply, Sender};

/// Recipients shown in a request; the others are counted.
const RECIPIENTS: usize = 10;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The end of a transaction.
    Message,
    /// The outcome of an attempt.
    Attempt,
    /// A refused MAIL or login.
    Session,
}

impl Event {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Attempt => "attempt",
            Self::Session => "session",
        }
    }
}

/// One line before it is written.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is about.
    pub event: Event,
    /// The end of the transaction.
    pub time: ZonedDateTime,
    /// The client's address.
    pub client: Option<IpAddr>,
    /// The version of TLS that its session was under.
    pub tls: Option<String>,
    /// The authenticated name.
    pub login: Option<String>,
    /// The user that a rule named.
    pub user: Option<String>,
    /// `SMTP from=<…> to=<…>`.
    pub request: String,
    /// The SMTP code of the reply.
    pub status: Option<u16>,
    /// `queued`, `held`, `delivered`, `deferred`, `failed`, `expired`, `refused`, `discarded`, `aborted`.
    pub outcome: &'static str,
    /// Why, in words.
    pub reason: String,
    /// Octets received.
    pub size: u64,
    /// The id of the transaction.
    pub id: Id,
    /// SES's id of the message.
    pub ses_id: Option<String>,
    /// The upstream that was asked.
    pub upstream: Option<String>,
    /// How many recipients.
    pub recipients: usize,
    /// How many changes the rules made.
    pub rules: usize,
    /// From MAIL to the end.
    pub duration: Duration,
    /// Variables that rules set.
    pub env: BTreeMap<String, String>,
    /// Header fields as they came in.
    pub header: Vec<(String, String)>,
}

impl Record {
    /// A record of now that tells nothing else yet.
    pub fn new(event: Event, id: Id) -> Self {
        Self {
            event,
            time: ZonedDateTime::now(),
            client: None,
            tls: None,
            login: None,
            user: None,
            request: String::new(),
            status: None,
            outcome: "",
            reason: String::new(),
            size: 0,
            id,
            ses_id: None,
            upstream: None,
            recipients: 0,
            rules: 0,
            duration: Duration::ZERO,
            env: BTreeMap::new(),
            header: Vec::new(),
        }
    }

    /// Tells who it was.
    pub fn set_client(&mut self, client: &Client) {
        self.client = Some(client.origin.unwrap_or(client.address));
        self.tls.clone_from(&client.tls);
        self.login.clone_from(&client.login);
    }

    /// The user: whom a rule named, else who logged in.
    pub fn whom(&self) -> Option<&str> {
        self.user.as_deref().or(self.login.as_deref())
    }

    /// Tells from whom and to whom.
    pub fn set_envelope(&mut self, envelope: &Envelope) {
        self.set_request(&envelope.sender, envelope.recipients.iter());
    }

    /// Tells from whom, and to which of the recipients.
    pub fn set_request<'a>(&mut self, sender: &Sender, recipients: impl ExactSizeIterator<Item = &'a Address>) {
        let mut request = format!("SMTP from=<{sender}> to=");
        self.recipients = recipients.len();
        for (index, recipient) in recipients.take(RECIPIENTS).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(request, "{comma}<{recipient}>");
        }
        match self.recipients.checked_sub(RECIPIENTS) {
            Some(more) if more > 0 => {
                let _ = write!(request, ",+{more}");
            }
            _ => {}
        }
        self.request = request;
    }

    /// Tells how it ended.
    pub fn set_end(&mut self, outcome: &'static str, reply: Option<&Reply>) {
        self.outcome = outcome;
        self.status = reply.map(Reply::code);
        self.reason = reply.map(ToString::to_string).unwrap_or_default();
    }

    /// Tells what an attempt did.
    pub fn set_outcome(&mut self, outcome: &Outcome) {
        self.set_end(outcome.fate.word(), Some(&outcome.reply));
        self.reason.clone_from(&outcome.cause);
        self.ses_id.clone_from(&outcome.remote_id);
    }
}
