//! Reports to senders, on their way to the store: built by `bounce`, and through the door as any other mail.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

use crate::{
    bounce::{self, Kind, Original, Report},
    header,
    intake::{Intake, Story},
    mail::{Address, Asked, Client, Dsn, Enhanced, Envelope, Id, Message, Reply, Ret, Sender},
    smtp::Transaction,
    store::{Begin, Entry, Fated, Lease, Pending, Place, Status},
};

use super::{details::Details, queue};

/// Makes reports.
pub struct Reports {
    /// A door with the shipped rules only: no rule of a site can lose a report.
    pub intake: Arc<Intake>,
    /// Our own name.
    pub hostname: String,
    /// Whom reports come from; without one, postmaster of the sender's domain.
    pub from: Option<Address>,
    /// How long a message may wait before its sender hears of it; never if zero.
    pub delay_notice: Duration,
}

/// The message that a report is about.
pub(super) struct About<'a> {
    pub(super) lease: &'a Lease,
    pub(super) message: &'a Message,
    /// Whether it is a report itself.
    pub(super) is_report: bool,
}

impl Reports {
    /// Whether the sender of a message of that age should hear that it waits.
    pub(super) fn is_late(&self, lease: &Lease, age: SignedDuration) -> bool {
        let after = SignedDuration::try_from(self.delay_notice).unwrap_or(SignedDuration::MAX);
        !self.delay_notice.is_zero() && !lease.noticed && age >= after
    }

    /// Messages taken before that time are late; none if nobody is told.
    pub(super) fn notice_before(&self, now: Timestamp) -> Option<Timestamp> {
        (!self.delay_notice.is_zero()).then(|| now - self.delay_notice)
    }

    /// The reports of what is settled: of what failed, and of what was handed on where that was asked; those only that the
    /// sender wants, and none for mail that has no sender to be told.
    pub(super) fn settled(&self, about: &About<'_>, fated: &[Fated]) -> Vec<Entry> {
        let of = |kind: Kind, is_wanted: fn(&Fated) -> bool| {
            let wanted = fated.iter().filter(|one| is_wanted(one)).map(|one| {
                let settled = &one.settled;
                entry((&one.address, &one.asked), reply(&settled.reply, &settled.cause), settled.time)
            });
            self.report(about, kind, &wanted.collect::<Vec<_>>())
        };
        let failed = of(Kind::Failed, |one| one.settled.status.is_failure() && one.asked.failure());
        let relayed = of(Kind::Relayed, |one| one.settled.status == Status::Delivered && one.asked.success());
        failed.into_iter().chain(relayed).collect()
    }

    /// The notice of a delay.
    pub(super) fn delayed(&self, about: &About<'_>, waiting: &[(Pending, Reply)], until: Timestamp) -> Option<Entry> {
        let now = Timestamp::now();
        let wanted = waiting.iter().filter(|(one, _)| one.asked.delay());
        let entries = wanted.map(|(one, reply)| entry((&one.address, &one.asked), reply.clone(), now));
        self.report(about, Kind::Delayed { until }, &entries.collect::<Vec<_>>())
    }

    fn report(&self, about: &About<'_>, kind: Kind, entries: &[bounce::Entry]) -> Option<Entry> {
        let (lease, message) = (about.lease, about.message);
        if entries.is_empty() {
            return None;
        }
        let sender = match &lease.sender.0 {
            Some(sender) if !about.is_report => sender,
            _ => {
                let (recipients, action) = (entries.len(), kind.action());
                tracing::warn!(id = %lease.id, recipients, action, "a message without a sender cannot be reported to anyone");
                return None;
            }
        };
        let id = Id::mint();
        let report = |whole| {
            let original = Original {
                id: lease.id,
                arrival: lease.received,
                envelope_id: lease.dsn.envelope_id.as_deref(),
                head: &message.head,
                whole,
            };
            let report = Report {
                kind,
                id,
                hostname: &self.hostname,
                from: &bounce::sender_of(self.from.as_ref(), sender, &self.hostname),
                to: sender,
                time: Timestamp::now(),
                original,
                entries,
            };
            self.prepare((id, lease.id), sender.clone(), report.build())
        };
        let whole = (lease.dsn.ret == Some(Ret::Full)).then(|| report(Some(message)));
        // Where our own door does not take the message in a report, its header says enough.
        Some(whole.filter(|entry| !matches!(entry.begin, Begin::Held(_))).unwrap_or_else(|| report(None)))
    }

    /// Takes a report through the door. One that the rules or the lint refuse is held, for somebody to look at.
    fn prepare(&self, (id, about): (Id, Id), to: Address, raw: Bytes) -> Entry {
        let client = Client::new(Ipv4Addr::LOCALHOST.into(), "report");
        let envelope = Envelope { sender: Sender(None), recipients: vec![to.clone()], ..Envelope::default() };
        let transaction = Transaction { id, client: client.clone(), envelope, raw: raw.clone() };
        let (story, prepared) = self.intake.prepare(transaction, &ZonedDateTime::now());
        match prepared {
            Ok(accepted) => {
                let details = Details { about: Some(about.to_string()), ..Details::new(&accepted, &story) };
                queue::entry(accepted, &details)
            }
            Err(refusal) => {
                tracing::error!(%id, %about, reason = refusal.reason, "a report is refused by our own door; it is held");
                held((id, about), (to, raw), &refusal.reason, &story)
            }
        }
    }
}

fn held((id, about): (Id, Id), (to, raw): (Address, Bytes), reason: &str, story: &Story) -> Entry {
    let now = Timestamp::now();
    let details = Details { about: Some(about.to_string()), changes: story.trace.changes.clone(), ..Details::read("") };
    Entry {
        id,
        begin: Begin::Held(format!("refused: {reason}")),
        sender: Sender(None),
        dsn: Dsn::default(),
        user: None,
        recipients: vec![Place { address: to, upstream: None, asked: Asked::default() }],
        route: None,
        size: raw.len() as u64,
        message: header::split(&raw),
        before: None,
        details: details.text(),
        received: now,
    }
}

fn entry((recipient, asked): (&Address, &Asked), reply: Reply, last: Timestamp) -> bounce::Entry {
    let (recipient, original) = (recipient.clone(), asked.original.clone());
    bounce::Entry { recipient, original, reply, remote_mta: None, last_attempt: Some(last) }
}

/// A reply as the store keeps it.
fn reply(text: &str, cause: &str) -> Reply {
    text.parse().unwrap_or_else(|_| Reply::new(550, Enhanced(5, 0, 0), cause))
}
