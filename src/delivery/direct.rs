//! Direct mode: one attempt now, and its outcome is the answer.
//!
//! Nothing is kept. The client hears 250 only when the upstream has accepted the message; when the answer takes longer
//! than the client waits, the client hears 451 4.4.2, the attempt goes on in the background, and its late outcome gets a
//! line of its own in the log.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::task::TaskTracker;

use crate::{
    intake::{Accepted, Receipt, Sink, Story},
    log::{AccessLog, Event, Record},
    mail::{Enhanced, Envelope, Outcome, Reply, Soon},
    metrics::Metrics,
    upstream::Attempt,
};

use super::{Choice, Router, Way, memory::Memory};

/// The sink of direct mode.
pub struct Direct {
    router: Arc<Router>,
    waiting: Duration,
    concurrency: Arc<Semaphore>,
    memory: Memory,
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
    pub fn new(router: Arc<Router>, settings: &super::Settings, memory: usize, shared: Shared) -> Self {
        Self {
            router,
            waiting: settings.direct_timeout.0,
            concurrency: Arc::new(Semaphore::new(settings.concurrency.max(1))),
            memory: Memory::new(memory),
            shared,
        }
    }

    /// Room for an attempt, taken whole by one who holds nothing of it yet.
    async fn room(&self, octets: usize) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let turn = Arc::clone(&self.concurrency).acquire_owned().await.ok()?;
        let memory = self.memory.take(octets).await?;
        Some((turn, memory))
    }

    async fn deliver(&self, accepted: Accepted) -> Receipt {
        let until = Instant::now() + self.waiting;
        let way = match self.way(&accepted, until).await {
            Ok(way) => way,
            Err(outcome) => return receipt(None, outcome),
        };
        let name = way.name().to_owned();
        let Ok(Some(room)) = timeout_at(until, self.room(accepted.message.len())).await else {
            return receipt(
                Some(name),
                Outcome::refused(busy("Too much mail at once; try again"), "concurrency or memory"),
            );
        };
        let answer = self.begin(accepted, way, room);
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

    /// The upstream for a message, once it takes mail.
    async fn way(&self, accepted: &Accepted, until: Instant) -> Result<Arc<Way>, Outcome> {
        let count = accepted.envelope.recipients.len();
        loop {
            match self.router.choose(accepted.options.upstream.as_deref(), count) {
                Choice::Now(way) => return Ok(way),
                Choice::Later(wait) if Instant::now() + wait < until => sleep(wait).await,
                Choice::Later(_) => {
                    let reply = Reply::new(454, Enhanced(4, 3, 2), "The sending rate or quota is used up; try again");
                    return Err(Outcome::refused(reply, "no upstream takes mail within direct_timeout"));
                }
                Choice::Ill(cause) => {
                    let reply = Reply::new(451, Enhanced(4, 4, 1), "No upstream can be reached; try again");
                    return Err(Outcome::refused(reply, format!("ill: {cause}")));
                }
                Choice::Nowhere(cause) => {
                    return Err(Outcome::refused(busy("No upstream takes this mail"), cause).with_alarm());
                }
            }
        }
    }

    /// Starts the attempt in a task of its own, which outlives a client that leaves.
    fn begin(
        &self,
        accepted: Accepted,
        way: Arc<Way>,
        room: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    ) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        let shared = self.shared.clone();
        self.shared.tasks.spawn(async move {
            let started = Instant::now();
            let mut record = Record::new(Event::Attempt, accepted.id);
            record.set_envelope(&accepted.envelope);
            let Accepted { id, envelope, message, options, .. } = accepted;
            let Envelope { sender: from, recipients, dsn, asked, .. } = envelope;
            let attempt = Attempt { id, sender: from, recipients, message: message.to_bytes(), options, dsn, asked };
            drop(message);
            let outcome = way.upstream.send(attempt).await.worst();
            way.heard(&outcome);
            drop(room);
            shared.metrics.attempt(outcome.fate.word());
            if outcome.alarm {
                tracing::error!(upstream = way.name(), %id, cause = outcome.cause, "an operator is needed");
            }
            if let Err(late) = sender.send(outcome) {
                record.upstream = Some(way.name().to_owned());
                record.duration = started.elapsed();
                record.set_outcome(&late);
                shared.log.write(&record);
            }
        });
        receiver
    }
}

impl Sink for Direct {
    fn take<'a>(&'a self, accepted: Accepted, _: &'a Story) -> Soon<'a, Receipt> {
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
