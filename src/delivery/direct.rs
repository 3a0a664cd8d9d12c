//! Direct mode: one attempt now, and its outcome is the answer.
//!
//! Nothing is kept. The client hears 250 only when the upstream has accepted the message; when the answer takes longer
//! than the client waits, the client hears 451 4.4.2, the attempt goes on in the background, and its late outcome gets a
//! line of its own in the log.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;

use crate::{
    intake::{Accepted, Receipt, Sink},
    log::{AccessLog, Event, Record},
    mail::{Enhanced, Envelope, Outcome, Reply, Soon},
    metrics::Metrics,
    upstream::{Attempt, Upstream},
};

use super::Router;

/// Octets of memory that one permit stands for.
const UNIT: usize = 1024;
/// An attempt holds the message, its base64 form and the request made of that.
const COPIES: usize = 3;

/// The sink of direct mode.
pub struct Direct {
    router: Router,
    waiting: Duration,
    concurrency: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_units: usize,
    shared: Shared,
}

/// What an attempt needs after its client has left.
#[derive(Clone)]
pub struct Shared {
    /// Where a late outcome is told.
    pub log: Arc<AccessLog>,
    /// Where outcomes are counted.
    pub metrics: Arc<Metrics>,
    /// Keeps the attempts under way, so that a shut-down waits for them.
    pub tasks: TaskTracker,
}

impl Direct {
    /// `memory` is in octets.
    pub fn new(router: Router, settings: &super::Settings, memory: usize, shared: Shared) -> Self {
        let memory_units = (memory / UNIT).clamp(1, u32::MAX as usize >> 4);
        Self {
            router,
            waiting: settings.direct_timeout.0,
            concurrency: Arc::new(Semaphore::new(settings.concurrency.max(1))),
            memory: Arc::new(Semaphore::new(memory_units)),
            memory_units,
            shared,
        }
    }

    /// Room for an attempt, taken whole by one who holds nothing of it yet.
    async fn room(&self, octets: usize) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let units = octets.saturating_mul(COPIES).div_ceil(UNIT).clamp(1, self.memory_units);
        let turn = Arc::clone(&self.concurrency).acquire_owned().await.ok()?;
        let memory = Arc::clone(&self.memory).acquire_many_owned(u32::try_from(units).ok()?).await.ok()?;
        Some((turn, memory))
    }

    async fn deliver(&self, accepted: Accepted) -> Receipt {
        let until = Instant::now() + self.waiting;
        let Some(upstream) = self.router.choose(accepted.options.upstream.as_deref()) else {
            let cause = match &accepted.options.upstream {
                Some(name) => format!("a rule asks for upstream {name}, which there is not"),
                None => "no upstream has a weight".to_owned(),
            };
            return receipt(None, Outcome::refused(busy("No upstream takes this mail"), cause).with_alarm());
        };
        let name = upstream.name().to_owned();
        let Ok(Some(room)) = timeout_at(until, self.room(accepted.message.len())).await else {
            return receipt(
                Some(name),
                Outcome::refused(busy("Too much mail at once; try again"), "concurrency or memory"),
            );
        };
        let answer = self.begin(accepted, upstream, room);
        match timeout_at(until, answer).await {
            Ok(Ok(outcome)) => receipt(Some(name), outcome),
            Ok(Err(_)) => receipt(
                Some(name),
                Outcome::refused(busy("The attempt broke off"), "the attempt panicked").with_alarm(),
            ),
            Err(_) => {
                let reply = Reply::new(451, Enhanced(4, 4, 2), "The upstream did not answer in time");
                receipt(Some(name), Outcome::refused(reply, "ambiguous: no answer within direct_timeout").with_doubt())
            }
        }
    }

    /// Starts the attempt in a task of its own, which outlives a client that leaves.
    fn begin(
        &self,
        accepted: Accepted,
        upstream: Arc<dyn Upstream>,
        room: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    ) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        let shared = self.shared.clone();
        self.shared.tasks.spawn(async move {
            let started = Instant::now();
            let mut record = Record::new(Event::Attempt, accepted.id);
            record.set_envelope(&accepted.envelope);
            let Accepted { id, envelope, message, options } = accepted;
            let Envelope { sender: from, recipients, .. } = envelope;
            let attempt = Attempt { id, sender: from, recipients, message: message.to_bytes(), options };
            drop(message);
            let outcome = upstream.send(attempt).await.worst();
            drop(room);
            shared.metrics.attempt(outcome.fate.word());
            if outcome.alarm {
                tracing::error!(upstream = upstream.name(), %id, cause = outcome.cause, "an operator is needed");
            }
            if let Err(late) = sender.send(outcome) {
                record.upstream = Some(upstream.name().to_owned());
                record.duration = started.elapsed();
                record.set_outcome(&late);
                shared.log.write(&record);
            }
        });
        receiver
    }
}

impl Sink for Direct {
    fn take(&self, accepted: Accepted) -> Soon<'_, Receipt> {
        Box::pin(self.deliver(accepted))
    }
}

fn busy(text: &str) -> Reply {
    Reply::new(451, Enhanced(4, 3, 2), text)
}

fn receipt(upstream: Option<String>, outcome: Outcome) -> Receipt {
    Receipt {
        reply: outcome.reply,
        outcome: outcome.fate.word(),
        reason: outcome.cause,
        upstream,
        remote_id: outcome.remote_id,
    }
}
