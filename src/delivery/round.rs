//! One round: all attempts that a lease allows, batch by batch, each batch durable before the next.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    mail::{Enhanced, Fate, Message, Outcome, Outcomes, Reply},
    store::{Fated, Lease, Pending, Settled, Settlement, Status, Then, Try},
    upstream::Attempt,
};

use super::{
    batch::{Batch, batches, groups},
    details::Details,
    queue::{Inner, LEASE},
    route::{Choice, Way},
};

/// Recipients of one call to SES.
pub(super) const CALL: usize = 50;
/// How long a round waits for its upstream between two batches; a longer wait is the queue's.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long an attempt may take whatever its upstream promises: less than what is left of the lease.
const ATTEMPT: Duration = Duration::from_secs(240);
/// The wait behind an attempt that was too fast; the upstream's own pace holds back the rest.
const SOON: Duration = Duration::from_secs(1);
/// The wait for an upstream that is ill.
const ILL: Duration = Duration::from_secs(15);

/// A lease, and what is known without asking the store.
pub(super) struct Task {
    pub(super) lease: Lease,
    pub(super) details: Details,
    /// The message, when it is at hand.
    pub(super) message: Option<Message>,
    /// The upstream whose tokens for the first batch are taken already.
    pub(super) booked: Option<Arc<Way>>,
}

/// When a message that is not settled is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// As `retry` says; it counts as a round.
    Backoff,
    /// After that time; it was not the message's turn yet.
    For(Duration),
}

/// A round under way.
pub(super) struct Round<'a> {
    inner: &'a Inner,
    lease: Lease,
    details: Details,
    message: Option<Message>,
    booked: Option<Arc<Way>>,
    octets: Bytes,
    batches: VecDeque<Batch>,
    tries: Vec<Try>,
    settled: Vec<(u32, Settled)>,
    identities: Vec<String>,
    /// What is settled and the sender may have to hear of.
    untold: Vec<Fated>,
    /// Whom the upstream tells of.
    told: Vec<u32>,
    waiting: Vec<(Pending, Reply)>,
    reason: String,
    wait: Wait,
}

impl<'a> Round<'a> {
    pub(super) fn new(inner: &'a Inner, task: Task) -> Self {
        let Task { mut lease, details, message, booked } = task;
        let batches = batches(std::mem::take(&mut lease.pending), |_| CALL);
        let untold = std::mem::take(&mut lease.unreported);
        Self {
            inner,
            lease,
            details,
            message,
            booked,
            octets: Bytes::new(),
            batches,
            tries: Vec::new(),
            settled: Vec::new(),
            identities: Vec::new(),
            untold,
            told: Vec::new(),
            waiting: Vec::new(),
            reason: String::new(),
            wait: Wait::Backoff,
        }
    }

    /// Makes the attempts and settles what they brought.
    pub(super) async fn run(mut self) {
        if !self.fetch().await {
            return;
        }
        while let Some(batch) = self.batches.pop_front() {
            match self.way(&batch).await {
                Ok(way) => self.attempt(&way, batch).await,
                Err((reason, wait)) => self.put_off(batch, &reason, wait),
            }
            if !self.batches.is_empty() && !self.settled.is_empty() && !self.settle_batch().await {
                return;
            }
        }
        self.finish().await;
    }

    /// Gets the message from the store; a message that cannot be read waits, and is told of.
    async fn fetch(&mut self) -> bool {
        if self.message.is_none() {
            match self.inner.store.message(self.lease.id).await {
                Ok(message) => self.message = message,
                Err(error) => tracing::error!(id = %self.lease.id, %error, "a queued message cannot be read"),
            }
        }
        match &self.message {
            Some(message) => self.octets = message.to_bytes(),
            None => {
                for batch in std::mem::take(&mut self.batches) {
                    self.put_off(batch, "the queued message cannot be read", Wait::Backoff);
                }
            }
        }
        if self.message.is_none() {
            let then = self.then(Timestamp::now());
            self.inner.settle(self.settlement(then)).await;
        }
        self.message.is_some()
    }

    /// The upstream for a batch, once it takes mail.
    async fn way(&mut self, batch: &Batch) -> Result<Arc<Way>, (String, Wait)> {
        if let Some(way) = self.booked.take() {
            return Ok(way);
        }
        let until = Instant::now() + PATIENCE;
        let named = self.details.options.upstream.clone().or_else(|| batch.route.clone());
        loop {
            if self.inner.stopping.is_cancelled() {
                return Err(("shutting down".to_owned(), Wait::For(Duration::ZERO)));
            }
            match self.inner.router.choose(named.as_deref(), batch.recipients.len()) {
                Choice::Now(way) => return Ok(way),
                Choice::Later(wait) if Instant::now() + wait > until => {
                    return Err((
                        "no upstream takes mail now: the rate or the quota is used up".to_owned(),
                        Wait::For(wait),
                    ));
                }
                Choice::Later(wait) => tokio::select! {
                    () = sleep(wait) => {}
                    () = self.inner.stopping.cancelled() => {}
                },
                Choice::Ill(reason) => return Err((format!("the upstream is ill: {reason}"), Wait::For(ILL))),
                Choice::Nowhere(reason) => {
                    tracing::error!(id = %self.lease.id, reason, "an operator is needed");
                    return Err((reason, Wait::Backoff));
                }
            }
        }
    }

    /// One attempt and what it means for each recipient of the batch.
    async fn attempt(&mut self, way: &Way, batch: Batch) {
        let attempt = Attempt {
            id: self.lease.id,
            sender: self.lease.sender.clone(),
            recipients: batch.recipients.iter().map(|one| one.address.clone()).collect(),
            message: self.octets.clone(),
            options: self.details.options.clone(),
            dsn: self.lease.dsn.clone(),
            asked: batch.recipients.iter().map(|one| (&one.address, one.asked.clone())).collect(),
        };
        let (began, started) = (Timestamp::now(), Instant::now());
        let outcomes = timeout(ATTEMPT, way.upstream.send(attempt)).await.unwrap_or_else(|_| {
            let reply = Reply::new(451, Enhanced(4, 4, 2), "The upstream did not answer in time");
            Outcomes::All(Outcome::refused(reply, "ambiguous: the attempt took too long").with_doubt())
        });
        let mut halves = None;
        for (outcome, recipients) in groups(&outcomes, batch.recipients) {
            way.heard(&outcome);
            self.tell(way, (&outcome, &recipients), (began, started));
            match outcome.fate {
                Fate::Delivered => self.delivered(way, &outcome, recipients),
                Fate::Deferred => self.deferred(&batch.route, &outcome, recipients),
                Fate::Failed if outcome.divisible && recipients.len() > 1 => halves = Some(recipients),
                Fate::Failed if self.delivered_lately(&outcome).await => {
                    self.deferred(&batch.route, &outcome, recipients);
                }
                Fate::Failed => self.failed(way, &outcome, recipients),
            }
        }
        if let Some(mut recipients) = halves {
            let second = recipients.split_off(recipients.len() / 2);
            for recipients in [second, recipients] {
                self.batches.push_front(Batch { route: batch.route.clone(), recipients });
            }
        }
    }

    /// Logs an outcome and keeps it for the store.
    fn tell(
        &mut self,
        way: &Way,
        (outcome, recipients): (&Outcome, &[Pending]),
        (began, started): (Timestamp, Instant),
    ) {
        self.inner.metrics.attempt(outcome.fate.word());
        if outcome.ambiguous {
            self.inner.metrics.ambiguous();
        }
        if outcome.alarm {
            tracing::error!(upstream = way.name(), id = %self.lease.id, cause = outcome.cause, "an operator is needed");
        }
        let mut record = self.details.record(self.lease.id);
        record.set_request(&self.lease.sender, recipients.iter().map(|one| &one.address));
        record.size = self.lease.size;
        record.upstream = Some(way.name().to_owned());
        record.duration = started.elapsed();
        record.set_outcome(outcome);
        self.inner.log.write(&record);
        self.tries.push(Try {
            upstream: way.name().to_owned(),
            began,
            ended: Timestamp::now(),
            outcome: outcome.fate.word().to_owned(),
            ambiguous: outcome.ambiguous,
            reply: outcome.reply.to_string(),
            cause: outcome.cause.clone(),
            remote_id: outcome.remote_id.clone(),
            recipients: recipients.iter().map(|one| one.ordinal).collect(),
        });
    }

    fn delivered(&mut self, way: &Way, outcome: &Outcome, recipients: Vec<Pending>) {
        let settled = settled(Status::Delivered, way.name(), outcome);
        if let Some(message) = &self.message {
            self.identities.extend(self.inner.identities.fresh(&self.lease.sender, &message.head, settled.time));
        }
        let news = recipients.iter().filter(|one| one.asked.success()).map(|one| one.ordinal);
        if outcome.tells {
            self.told.extend(news);
        }
        self.settle(&settled, recipients);
    }

    fn failed(&mut self, way: &Way, outcome: &Outcome, recipients: Vec<Pending>) {
        let settled = settled(Status::Failed, way.name(), outcome);
        self.settle(&settled, recipients);
    }

    /// Settles recipients, and keeps in mind of which of them the sender has to hear.
    fn settle(&mut self, settled: &Settled, recipients: Vec<Pending>) {
        for Pending { ordinal, address, asked, .. } in recipients {
            self.settled.push((ordinal, settled.clone()));
            if settled.is_news(&asked) && !self.told.contains(&ordinal) {
                self.untold.push(Fated { ordinal, address, asked, settled: settled.clone() });
            }
        }
    }

    /// What defers one batch would defer the others that take the same way.
    fn deferred(&mut self, route: &Option<String>, outcome: &Outcome, recipients: Vec<Pending>) {
        let wait = if outcome.pressure.is_some() { Wait::For(SOON) } else { Wait::Backoff };
        self.keep_waiting(recipients, &outcome.reply, (&outcome.cause, wait));
        let batches = std::mem::take(&mut self.batches).into_iter();
        let (same, others): (VecDeque<Batch>, VecDeque<Batch>) = batches.partition(|one| one.route == *route);
        self.batches = others;
        for batch in same {
            self.keep_waiting(batch.recipients, &outcome.reply, (&outcome.cause, wait));
        }
    }

    fn put_off(&mut self, batch: Batch, reason: &str, wait: Wait) {
        let reply = Reply::new(451, Enhanced(4, 3, 2), reason);
        self.keep_waiting(batch.recipients, &reply, (reason, wait));
    }

    fn keep_waiting(&mut self, recipients: Vec<Pending>, reply: &Reply, (reason, wait): (&str, Wait)) {
        let first = self.waiting.is_empty();
        self.waiting.extend(recipients.into_iter().map(|one| (one, reply.clone())));
        // The longer of two waits is right for both.
        if first || wait == Wait::Backoff {
            (self.reason, self.wait) = (reason.to_owned(), wait);
        }
    }

    /// Whether an identity that is said not to be verified delivered within the last seven days.
    async fn delivered_lately(&self, outcome: &Outcome) -> bool {
        let since = Timestamp::now() - Duration::from_secs(7 * 24 * 3600);
        for identity in &outcome.unverified {
            let domain = identity.rsplit_once('@').map(|(_, domain)| domain);
            for name in std::iter::once(identity.as_str()).chain(domain) {
                let known = self.inner.store.identity(&name.to_lowercase()).await;
                if known.is_ok_and(|time| time.is_some_and(|time| time > since)) {
                    tracing::error!(id = %self.lease.id, identity, "an identity that delivered lately is said not to be verified");
                    return true;
                }
            }
        }
        false
    }

    /// Commits what the batches so far brought, and holds on to the lease.
    async fn settle_batch(&mut self) -> bool {
        let until = Timestamp::now() + LEASE;
        let settlement = self.settlement(Then::Keep(until));
        self.inner.settle(settlement).await
    }

    fn settlement(&mut self, then: Then) -> Settlement {
        Settlement {
            id: self.lease.id,
            lease: self.lease.number,
            time: Timestamp::now(),
            tries: std::mem::take(&mut self.tries),
            settled: std::mem::take(&mut self.settled),
            reported: std::mem::take(&mut self.told),
            noticed: false,
            reports: Vec::new(),
            identities: std::mem::take(&mut self.identities),
            then,
        }
    }

    fn then(&self, now: Timestamp) -> Then {
        let (wait, counted) = match self.wait {
            Wait::Backoff => (self.inner.retry.wait(self.lease.id, self.lease.rounds), true),
            Wait::For(wait) => (wait, false),
        };
        Then::Wait { due: now + wait, reason: self.reason.clone(), counted }
    }

    /// Ends the round: gives up what is too old, reports what failed, and lets go of the lease.
    async fn finish(mut self) {
        let now = Timestamp::now();
        let age = now.duration_since(self.lease.received);
        let until = self.lease.received + self.inner.retry.expire.0;
        if !self.waiting.is_empty() && now >= until {
            self.expire(now);
        }
        let then = self.then(now);
        let mut settlement = self.settlement(then);
        let Some(message) = &self.message else { return };
        let about = super::reports::About { lease: &self.lease, message, is_report: self.details.about.is_some() };
        settlement.reported.extend(self.untold.iter().map(|one| one.ordinal));
        settlement.reports.extend(self.inner.reports.settled(&about, &self.untold));
        let late = self.inner.reports.is_late(&self.lease, age);
        if !self.waiting.is_empty() && late {
            settlement.noticed = true;
            settlement.reports.extend(self.inner.reports.delayed(&about, &self.waiting, until));
        }
        let due_now = !settlement.reports.is_empty() || self.wait == Wait::For(Duration::ZERO);
        self.inner.settle(settlement).await;
        if due_now || !self.waiting.is_empty() {
            self.inner.due.notify_one();
        }
    }

    fn expire(&mut self, now: Timestamp) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut record = self.details.record(self.lease.id);
        record.set_request(&self.lease.sender, waiting.iter().map(|(one, _)| &one.address));
        record.size = self.lease.size;
        record.set_end("expired", None);
        record.reason.clone_from(&self.reason);
        self.inner.log.write(&record);
        for (pending, reply) in waiting {
            let settled = Settled {
                status: Status::Expired,
                reply: reply.to_string(),
                cause: self.reason.clone(),
                upstream: String::new(),
                remote_id: None,
                time: now,
            };
            self.settle(&settled, vec![pending]);
        }
    }
}

fn settled(status: Status, upstream: &str, outcome: &Outcome) -> Settled {
    Settled {
        status,
        reply: outcome.reply.to_string(),
        cause: outcome.cause.clone(),
        upstream: upstream.to_owned(),
        remote_id: outcome.remote_id.clone(),
        time: Timestamp::now(),
    }
}
