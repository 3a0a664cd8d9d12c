//! A message from a command: attempts now, and their outcomes are the answer.
//!
//! An accepted message goes in; what became of each of its recipients comes out, within the patience of a mail server
//! that waits for the command to end. Nothing is kept: whoever called the command has the message still.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use tokio::time::{Instant, sleep};

use crate::{
    intake::Accepted,
    mail::{Address, Asked, Asks, Dsn, Enhanced, Fate, Id, Options, Outcome, Period, Pressure, Reply, Sender},
    store::Pending,
    upstream::Attempt,
};

use super::{
    Checks, Choice, Retry, Router,
    batch::{Batch, batches, groups},
};

/// How an upstream of a [`Once`] is looked after: not at all, and one that cannot be reached gets no second call.
pub const UNWATCHED: Checks = Checks { interval: Period::seconds(3600), rise: 1, fall: 1 };

/// For how long a command tries again by itself. Postfix bounces what takes 1000 s; a time-out of the last attempt comes
/// on top, once.
const PATIENCE: Duration = Duration::from_secs(15);
/// The waits between its attempts.
const WAITS: Retry = Retry { first: Period::seconds(1), max: Period::seconds(8), expire: Period::seconds(15) };

/// What became of some recipients of a message.
#[derive(Clone, Debug)]
pub struct Part {
    /// Those.
    pub recipients: Vec<Address>,
    /// The upstream that was asked last.
    pub upstream: Option<String>,
    /// What the last attempt did.
    pub outcome: Outcome,
}

/// The way out of a command.
pub struct Once {
    router: Router,
}

/// What all attempts of a message have in common.
struct Letter {
    id: Id,
    sender: Sender,
    message: Bytes,
    options: Options,
    until: Instant,
}

/// What is worth doing after an outcome.
enum Next {
    Settled,
    Elsewhere,
    Later,
}

impl Once {
    /// One that sends by those upstreams.
    pub fn new(router: Router) -> Self {
        Self { router }
    }

    /// Sends a message. After a deferral the recipients behind it are not tried: whoever comes again sends to those
    /// before it a second time, and these are to be few.
    pub async fn send(&self, accepted: Accepted) -> Vec<Part> {
        let Accepted { id, envelope, message, options, .. } = accepted;
        let mut rest = self.cut(envelope.recipients, &options);
        let until = Instant::now() + PATIENCE;
        let letter = Letter { id, sender: envelope.sender, message: message.to_bytes(), options, until };
        let mut parts = Vec::new();
        while let Some(batch) = rest.pop_front() {
            let done = self.send_batch(&letter, batch).await;
            let deferred = done.iter().any(|part| part.outcome.fate == Fate::Deferred);
            parts.extend(done);
            if deferred {
                break;
            }
        }
        let untried: Vec<Address> = rest.into_iter().flat_map(addresses).collect();
        if !untried.is_empty() {
            let reply = Reply::new(451, Enhanced(4, 4, 0), "Not tried, since others were deferred");
            let outcome = Outcome::refused(reply, "not tried");
            parts.push(Part { recipients: untried, upstream: None, outcome });
        }
        parts
    }

    fn cut(&self, recipients: Vec<Address>, options: &Options) -> VecDeque<Batch> {
        let route = |address: &Address| options.routes.get(&address.to_string()).or(options.upstream.as_ref()).cloned();
        let pending = |(ordinal, address): (u32, Address)| Pending {
            ordinal,
            upstream: route(&address),
            address,
            asked: Asked::default(),
        };
        let size = |named: Option<&str>| {
            let ways = self.router.ways().iter().filter(|way| named.is_none_or(|name| name == way.name()));
            ways.map(|way| way.upstream.batch()).min().unwrap_or(1).max(1)
        };
        batches((0..).zip(recipients).map(pending).collect(), size)
    }

    async fn send_batch(&self, letter: &Letter, batch: Batch) -> Vec<Part> {
        let mut last: Option<Vec<Part>> = None;
        let mut rounds = 0;
        loop {
            let way = match self.router.choose(batch.route.as_deref(), batch.recipients.len()) {
                Choice::Now(way) => way,
                Choice::Later(_) => return last.unwrap_or_else(|| nowhere(batch, "every upstream is at its rate")),
                Choice::Ill(cause) | Choice::Nowhere(cause) => return last.unwrap_or_else(|| nowhere(batch, &cause)),
            };
            let recipients = batch.recipients.iter().map(|one| one.address.clone()).collect();
            let attempt = Attempt {
                id: letter.id,
                sender: letter.sender.clone(),
                recipients,
                message: letter.message.clone(),
                options: letter.options.clone(),
                dsn: Dsn::default(),
                asked: Asks::default(),
            };
            let outcomes = way.upstream.send(attempt).await;
            let worst = outcomes.clone().worst();
            way.heard(&worst);
            let name = way.name();
            let parts = groups(&outcomes, batch.recipients.clone()).into_iter().map(|(outcome, group)| Part {
                recipients: group.into_iter().map(|one| one.address).collect(),
                upstream: Some(name.to_owned()),
                outcome,
            });
            let parts: Vec<Part> = parts.collect();
            let wait = match next(&worst, parts.len()) {
                Next::Settled => return parts,
                Next::Elsewhere => Duration::ZERO,
                Next::Later => WAITS.wait(letter.id, rounds),
            };
            if Instant::now() + wait >= letter.until {
                return parts;
            }
            last = Some(parts);
            rounds += 1;
            sleep(wait).await;
        }
    }
}

/// An attempt that may have been accepted is not repeated, and neither is one that waits for an operator or for tomorrow;
/// nor one that parted its recipients, some of whom have the message.
fn next(worst: &Outcome, parts: usize) -> Next {
    let lasting = worst.ambiguous || worst.pressure == Some(Pressure::Quota) || parts != 1;
    if worst.fate != Fate::Deferred || lasting {
        return Next::Settled;
    }
    // X.4.X is the network (RFC 3463 section 3.5): nothing left.
    match worst.reply.enhanced() {
        Some(Enhanced(4, 4, _)) => Next::Elsewhere,
        _ if worst.alarm => Next::Settled,
        _ => Next::Later,
    }
}

fn addresses(batch: Batch) -> Vec<Address> {
    batch.recipients.into_iter().map(|one| one.address).collect()
}

fn nowhere(batch: Batch, cause: &str) -> Vec<Part> {
    let reply = Reply::new(451, Enhanced(4, 3, 5), cause);
    vec![Part { recipients: addresses(batch), upstream: None, outcome: Outcome::refused(reply, cause).with_alarm() }]
}
