//! The one door: a [`Transaction`] goes in, an [`Accepted`] message or a [`Refusal`] comes out.
//!
//! Pure: the rules run, then the lint of each upstream that the message may take. It knows neither store nor upstream;
//! what becomes of an accepted message is its [`Sink`]'s.

mod line;

use std::sync::{Arc, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use jiff::ZonedDateTime;

use crate::{
    header::{self, Hop},
    mail::{Address, Client, Enhanced, Envelope, Id, Message, Options, Reply, Sender, Size, Soon},
    rules::{Draft, Facts, Rules, Trace, Verdict},
    smtp::Transaction,
    upstream::{Finding, LintMode, Severity},
};

pub use line::Handed;

/// Fields of a header at most.
const FIELDS: usize = 2000;

/// A message that may go on its way.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The id of the transaction.
    pub id: Id,
    /// From whom and to whom, after the rules.
    pub envelope: Envelope,
    /// As it is to leave.
    pub message: Message,
    /// What rules ask of the upstream.
    pub options: Options,
    /// Where it came from.
    pub origin: Origin,
    /// The rule that holds it back, if one does.
    pub held: Option<Arc<str>>,
}

/// Where a message came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Who sent it.
    pub client: Client,
    /// Octets received.
    pub size: usize,
    /// Its header as it came in.
    pub head: Bytes,
}

/// A message that goes nowhere.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What the client hears.
    pub reply: Reply,
    /// `refused` or `discarded`, for the log.
    pub outcome: &'static str,
    /// The cause, for the log.
    pub reason: String,
}

/// What intake learnt of a message, whatever became of it.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// What the rules did.
    pub trace: Trace,
    /// The header fields that the log wants, as they came in.
    pub fields: Vec<(String, String)>,
    /// What an upstream may object to, without being sure.
    pub warnings: Vec<String>,
}

/// What became of an accepted message.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// What the client hears.
    pub reply: Reply,
    /// The word for the log: `queued`, `held`, `delivered`, `deferred`, `failed`.
    pub outcome: &'static str,
    /// The cause, for the log.
    pub reason: String,
    /// The upstream that was asked.
    pub upstream: Option<String>,
    /// Its id of the message.
    pub remote_id: Option<String>,
}

/// Where accepted mail goes.
///
/// When the receipt's reply is a 250, the message is durable here or accepted by an upstream. When the caller stops
/// waiting, an attempt under way is still finished and logged.
pub trait Sink: Send + Sync {
    /// Takes a message, and what intake learnt of it.
    fn take<'a>(&'a self, accepted: Accepted, story: &'a Story) -> Soon<'a, Receipt>;
}

/// What an upstream would refuse.
pub type Inspect = Arc<dyn Fn(&Envelope, &Message) -> Vec<Finding> + Send + Sync>;

/// The lint of one upstream.
#[derive(Clone)]
pub struct Lint {
    /// The upstream's name.
    pub upstream: String,
    /// Whom a client is told of.
    pub who: &'static str,
    /// What becomes of a message with findings.
    pub mode: LintMode,
    /// Finds them.
    pub inspect: Inspect,
}

/// Limits that hold before and after the rules.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Octets of a message.
    pub message_size: Size,
    /// Octets of its header.
    pub header_size: Size,
    /// Received fields, against loops (RFC 5321 section 6.3).
    pub received: usize,
}

/// The door.
pub struct Intake {
    /// The rules; a message that is under way keeps those it began with.
    pub rules: RwLock<Arc<Rules>>,
    /// The lint of each upstream.
    pub lints: Vec<Lint>,
    /// Our own name, for Received.
    pub hostname: String,
    /// Whether a message gets our Received field: one from a command does not, since nothing was received over a network.
    pub traced: bool,
    /// What is too much.
    pub limits: Limits,
    /// The header fields that the log wants.
    pub log_fields: Vec<String>,
}

impl Intake {
    /// The rules as they are now.
    fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other rules from here on.
    pub fn set_rules(&self, rules: Arc<Rules>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// What the rules `at = "rcpt"` say against a recipient, if anything.
    pub fn check_recipient(&self, client: &Client, sender: &Sender, recipient: &Address) -> Option<Reply> {
        let rules = self.rules();
        if !rules.has_recipient_rules() {
            return None;
        }
        let envelope = Envelope { sender: sender.clone(), recipients: vec![recipient.clone()], ..Envelope::default() };
        let facts = Facts { id: Id::nil(), client: client.clone(), size: 0, hostname: self.hostname.clone() };
        rules.check_recipient(&facts, &mut Draft::new(envelope, &Bytes::new()))
    }

    /// Makes of a transaction what will leave, or says why nothing will.
    pub fn prepare(&self, transaction: Transaction, time: &ZonedDateTime) -> (Story, Result<Accepted, Refusal>) {
        let mut story = Story::default();
        let result = self.try_prepare(transaction, time, &mut story);
        (story, result)
    }

    fn try_prepare(
        &self,
        transaction: Transaction,
        time: &ZonedDateTime,
        story: &mut Story,
    ) -> Result<Accepted, Refusal> {
        let Transaction { id, client, envelope, raw } = transaction;
        let smtputf8 = envelope.smtputf8;
        let message = header::split(&raw);
        self.check_header_size(message.head.len())?;
        let before = message.head.clone();
        let mut draft = Draft::of(envelope, message);
        story.fields = self.logged(&draft);
        check_field_count(&draft)?;
        self.check_hops(&draft)?;
        remove_return_paths(&mut draft);
        let facts = Facts { id, client, size: raw.len(), hostname: self.hostname.clone() };
        let verdict = self.rules().run(&facts, &mut draft);
        story.trace = std::mem::take(&mut draft.trace);
        match verdict {
            Verdict::Accept | Verdict::Hold => {}
            Verdict::Reject(reply) | Verdict::Defer(reply) => return Err(refused(reply, "a rule")),
            Verdict::Discard => {
                let reply = Reply::new(250, Enhanced(2, 0, 0), "Ok");
                return Err(Refusal { reply, outcome: "discarded", reason: "a rule".to_owned() });
            }
        }
        check_first_line(&draft)?;
        let hop = Hop { client: &facts.client, hostname: &self.hostname, id, time, smtputf8 };
        let head = if self.traced { traced_head(&draft, &hop) } else { draft.header.finish() };
        let Draft { envelope, rest, options, held, .. } = draft;
        let origin = Origin { client: facts.client, size: facts.size, head: before };
        let accepted = Accepted { id, envelope, message: Message { head, rest }, options, origin, held };
        self.check_result(&accepted, story)?;
        Ok(accepted)
    }

    /// The first field of each name that the log wants, unfolded but not decoded.
    fn logged(&self, draft: &Draft) -> Vec<(String, String)> {
        let first = |name: &String| {
            let at = draft.header.find(name).next()?;
            let value = draft.header.unfolded(at);
            let value = value.get(..1000).unwrap_or(&value);
            Some((name.clone(), String::from_utf8_lossy(value).into_owned()))
        };
        self.log_fields.iter().filter_map(first).collect()
    }

    /// Before the fields are looked at: a list of millions would take many times the memory of the message.
    fn check_header_size(&self, octets: usize) -> Result<(), Refusal> {
        if octets > self.limits.header_size.octets() {
            let text = format!("The header has {octets} octets; at most {} are taken", self.limits.header_size.0);
            return Err(refused(Reply::new(552, Enhanced(5, 3, 4), &text), "header_size"));
        }
        Ok(())
    }

    fn check_hops(&self, draft: &Draft) -> Result<(), Refusal> {
        let hops = draft.header.find("Received").count();
        if hops > self.limits.received {
            let text = format!("{hops} Received fields: the message loops");
            return Err(refused(Reply::new(554, Enhanced(5, 4, 6), &text), "received"));
        }
        Ok(())
    }

    fn check_result(&self, accepted: &Accepted, story: &mut Story) -> Result<(), Refusal> {
        let Accepted { envelope, message, options, .. } = accepted;
        if message.len() as u64 > self.limits.message_size.0.saturating_add(self.limits.header_size.0) {
            let text = format!("The message has {} octets after repairs", message.len());
            return Err(refused(Reply::new(552, Enhanced(5, 3, 4), &text), "message_size"));
        }
        let mut refusals = Vec::new();
        let may_take = |lint: &&Lint| {
            let named = |name: &String| *name == lint.upstream;
            options.upstream.as_ref().is_none_or(named) || options.routes.values().any(named)
        };
        for lint in self.lints.iter().filter(may_take).filter(|lint| lint.mode != LintMode::Off) {
            let findings = (lint.inspect)(envelope, message);
            let hard = findings.iter().find(|finding| finding.severity == Severity::Refuse);
            match hard {
                Some(finding) if lint.mode == LintMode::Refuse => refusals.push((lint.who, finding.clone())),
                _ => story.warnings.extend(findings.iter().map(|finding| format!("{}: {finding}", lint.upstream))),
            }
        }
        let every = refusals.len() == self.lints.iter().filter(may_take).count();
        match refusals.first() {
            Some((who, finding)) if every => {
                let text = format!("{who} would refuse this message: {finding}");
                Err(refused(Reply::new(554, Enhanced(5, 6, 0), &text), "lint"))
            }
            _ => Ok(()),
        }
    }
}

fn refused(reply: Reply, by: &str) -> Refusal {
    Refusal { reason: format!("{by}: {}", reply.text()), reply, outcome: "refused" }
}

/// A header that begins with a blank would become the folded end of our own Received (RFC 5322 section 2.2.3): the line
/// would be lost to whoever it was for, and a client could write into our trace.
fn check_first_line(draft: &Draft) -> Result<(), Refusal> {
    let first = draft.header.positions().next().map(|at| draft.header.whole(at));
    match first.and_then(<[u8]>::first) {
        Some(b' ' | b'\t') => {
            let text = "The header begins with a blank; its first line belongs to no field";
            Err(refused(Reply::new(554, Enhanced(5, 6, 0), text), "header"))
        }
        _ => Ok(()),
    }
}

/// Rules look at each field, and some at all fields for each: that is bounded here.
fn check_field_count(draft: &Draft) -> Result<(), Refusal> {
    let count = draft.header.positions().count();
    if count > FIELDS {
        let text = format!("The header has {count} fields; at most {FIELDS} are taken");
        return Err(refused(Reply::new(552, Enhanced(5, 3, 4), &text), "header"));
    }
    Ok(())
}

/// Takes out what the last delivery wrote (RFC 5321 section 4.4): SES would check its address. It goes before the rules
/// run, which would keep a second one under another name, and may not come out by a repair of its name.
fn remove_return_paths(draft: &mut Draft) {
    let header = &draft.header;
    let paths: Vec<usize> = header.positions().filter(|at| is_return_path(header.whole(*at))).collect();
    paths.into_iter().for_each(|at| draft.header.remove(at));
}

/// Whether a field has that name, or has it once a byte order mark and NUL octets are gone.
fn is_return_path(whole: &[u8]) -> bool {
    const LONGEST: usize = 40;
    let octets = whole.iter().copied().filter(|octet| *octet != 0);
    let start: Vec<u8> = octets.take(LONGEST).collect();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let Some((name, rest)) = start.split_at_checked("Return-Path".len()) else { return false };
    let colon = rest.iter().find(|octet| !matches!(octet, b' ' | b'\t'));
    name.eq_ignore_ascii_case(b"Return-Path") && colon == Some(&b':')
}

/// The header with our own Received before all else.
fn traced_head(draft: &Draft, hop: &Hop<'_>) -> Bytes {
    let received = header::received(hop);
    let mut head = BytesMut::with_capacity(received.len() + draft.header.len());
    head.extend_from_slice(received.as_bytes());
    head.extend_from_slice(&draft.header.finish());
    head.freeze()
}

#[cfg(test)]
mod tests {
    use super::is_return_path;

    #[test]
    fn a_return_path_that_a_repair_would_lay_bare_is_one() {
        for field in
            ["Return-Path: <a@b>", "return-path : x", "Return\0-Path:", "\u{feff}Return-Path:", "Return-Path\0: x"]
        {
            assert!(is_return_path(field.as_bytes()), "{field}");
        }
        for field in ["X-Return-Path: x", "Return-Pathos: x", "Return-Path\r\n", "Subject: Return-Path:", ""] {
            assert!(!is_return_path(field.as_bytes()), "{field}");
        }
    }
}
