//! Queue mode: durable here, then sent.
//!
//! The client hears 250 when the message is committed. When nothing waits and an upstream is ready, the same commit
//! leases it, and its delivery begins with what is in memory; else the dispatcher leases it when its turn comes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    intake::{Accepted, Receipt, Sink, Story},
    log::AccessLog,
    mail::{Enhanced, Reply, Soon},
    metrics::Metrics,
    store::{Begin, Entry, Lease, Pending, Place, Store, StoreError},
};

use super::{
    DIRECT_RECIPIENTS, Direct, Retry, Router,
    details::Details,
    identities::Identities,
    memory::Memory,
    reports::Reports,
    round::{Round, Task},
    route::{Choice, Way},
};

/// How long a lease lasts: longer than an attempt with the wait before it.
pub(super) const LEASE: Duration = Duration::from_secs(300);

/// The sink of queue mode, and the room of its workers.
#[derive(Clone)]
pub struct Queue(pub(super) Arc<Inner>);

/// What a queue is made of.
pub struct Parts {
    /// Keeps the messages.
    pub store: Arc<dyn Store>,
    /// Knows the upstreams.
    pub router: Arc<Router>,
    /// Makes reports.
    pub reports: Reports,
    /// When to try again.
    pub retry: Retry,
    /// Attempts at once.
    pub concurrency: usize,
    /// Octets that attempts may take.
    pub memory: usize,
    /// Where outcomes are told.
    pub log: Arc<AccessLog>,
    /// Where outcomes are counted.
    pub metrics: Arc<Metrics>,
    /// Keeps what is under way, so that a shut-down waits for it.
    pub tasks: TaskTracker,
    /// Set when no new attempt may begin.
    pub stopping: CancellationToken,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) router: Arc<Router>,
    pub(super) reports: Reports,
    pub(super) retry: Retry,
    pub(super) log: Arc<AccessLog>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) tasks: TaskTracker,
    pub(super) stopping: CancellationToken,
    pub(super) slots: Arc<Semaphore>,
    pub(super) memory: Memory,
    pub(super) identities: Identities,
    /// Told when there is something to deliver.
    pub(super) due: Notify,
    /// Whether nothing that is due waits in the store.
    pub(super) caught_up: AtomicBool,
}

impl Queue {
    /// A queue whose dispatcher does not run yet.
    pub fn new(parts: Parts) -> Self {
        let Parts { store, router, reports, retry, concurrency, memory, log, metrics, tasks, stopping } = parts;
        Self(Arc::new(Inner {
            store,
            router,
            reports,
            retry,
            log,
            metrics,
            tasks,
            stopping,
            slots: Arc::new(Semaphore::new(concurrency.max(1))),
            memory: Memory::new(memory),
            identities: Identities::default(),
            due: Notify::new(),
            caught_up: AtomicBool::new(false),
        }))
    }

    /// Looks for messages that are due, since somebody else has changed what the store holds.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Keeps a message and says so.
    async fn keep(&self, accepted: Accepted, story: &Story) -> Receipt {
        let details = Details::new(&accepted, story);
        self.0.know(&accepted);
        let held = accepted.held.is_some();
        let entry = entry(accepted, &details);
        let (told, hears) = oneshot::channel();
        let inner = Arc::clone(&self.0);
        // In a task of its own: what is committed is delivered although the client leaves meanwhile.
        self.0.tasks.spawn(async move { inner.take(entry, details, told).await });
        match hears.await {
            Ok(Ok(())) if held => receipt("held", Reply::new(250, Enhanced(2, 0, 0), "Ok held")),
            Ok(Ok(())) => receipt("queued", Reply::new(250, Enhanced(2, 0, 0), "Ok queued")),
            Ok(Err(error)) => {
                tracing::error!(%error, "a message cannot be queued");
                Receipt { reason: error.to_string(), ..receipt("deferred", error.reply()) }
            }
            Err(_) => receipt("deferred", Reply::new(451, Enhanced(4, 3, 0), "The queue broke off; try again")),
        }
    }
}

impl Sink for Queue {
    fn take<'a>(&'a self, accepted: Accepted, story: &'a Story) -> Soon<'a, Receipt> {
        Box::pin(self.keep(accepted, story))
    }
}

/// Direct mode beside a store: what one answer cannot speak for is queued.
pub struct Sorting {
    /// For what one call can take.
    pub direct: Direct,
    /// For all else.
    pub queue: Queue,
}

impl Sink for Sorting {
    fn take<'a>(&'a self, accepted: Accepted, story: &'a Story) -> Soon<'a, Receipt> {
        let many = accepted.envelope.recipients.len() > DIRECT_RECIPIENTS;
        if many || accepted.held.is_some() || !accepted.options.routes.is_empty() {
            return self.queue.take(accepted, story);
        }
        self.direct.take(accepted, story)
    }
}

fn receipt(outcome: &'static str, reply: Reply) -> Receipt {
    Receipt { reason: reply.to_string(), reply, outcome, upstream: None, remote_id: None }
}

/// The entry of an accepted message, due now or held.
pub fn entry(accepted: Accepted, details: &Details) -> Entry {
    let Accepted { id, envelope, message, options, origin, held } = accepted;
    let now = Timestamp::now();
    let place = |address: crate::mail::Address| {
        let upstream = options.routes.get(&address.to_string()).cloned();
        let asked = envelope.asked.of(&address);
        Place { address, upstream, asked }
    };
    let changed = details.rules > 0;
    Entry {
        id,
        begin: match held {
            Some(rule) => Begin::Held(format!("rule \"{rule}\"")),
            None => Begin::Queued(now),
        },
        sender: envelope.sender,
        dsn: envelope.dsn,
        user: details.user.clone().or_else(|| details.client.login.clone()),
        recipients: envelope.recipients.into_iter().map(place).collect(),
        route: options.upstream,
        message,
        before: changed.then_some(origin.head),
        details: details.text(),
        received: now,
        size: origin.size as u64,
    }
}

/// What a fresh message needs to be delivered at once.
struct Start {
    slot: OwnedSemaphorePermit,
    way: Arc<Way>,
    memory: OwnedSemaphorePermit,
}

impl Inner {
    async fn take(self: Arc<Self>, mut entry: Entry, details: Details, told: oneshot::Sender<Result<(), StoreError>>) {
        let start = self.start(&entry);
        let fresh = start.map(|start| {
            let until = Timestamp::now() + LEASE;
            entry.begin = Begin::Leased(until);
            (start, lease_of(&entry), entry.message.clone())
        });
        let kept = self.store.put(entry).await;
        let is_kept = kept.is_ok();
        let _ = told.send(kept);
        match fresh {
            Some((start, lease, message)) if is_kept => {
                let task = Task { lease, details, message: Some(message), booked: Some(start.way) };
                self.work(task, (start.slot, Some(start.memory))).await;
            }
            Some(_) => {}
            None => self.wake(),
        }
    }

    /// Says so when a rule wants an upstream that there is not. The message is kept: settings can be mended.
    fn know(&self, accepted: &Accepted) {
        let options = &accepted.options;
        let unknown = |name: &&String| self.router.ways().iter().all(|way| way.name() != name.as_str());
        if let Some(name) = options.upstream.iter().chain(options.routes.values()).find(unknown) {
            tracing::error!(id = %accepted.id, upstream = name, "a rule asks for an upstream that there is not; the message waits");
        }
    }

    /// Tells the dispatcher that there may be something to deliver.
    pub(super) fn wake(&self) {
        self.caught_up.store(false, Ordering::Release);
        self.due.notify_one();
    }

    /// A place for the message now, if nothing that came before it waits.
    fn start(&self, entry: &Entry) -> Option<Start> {
        let fresh = matches!(entry.begin, Begin::Queued(_)) && self.caught_up.load(Ordering::Acquire);
        if !fresh || self.stopping.is_cancelled() {
            return None;
        }
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let memory = self.memory.try_take(entry.message.len())?;
        let first = entry.recipients.first()?.upstream.as_deref();
        let count = entry.recipients.len().min(super::round::CALL);
        match self.router.choose(entry.route.as_deref().or(first), count) {
            Choice::Now(way) => Some(Start { slot, way, memory }),
            Choice::Later(_) | Choice::Ill(_) | Choice::Nowhere(_) => None,
        }
    }

    /// Works on a lease in a task that may break without taking the lease with it.
    pub(super) async fn work(self: Arc<Self>, task: Task, held: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)) {
        let (id, number) = (task.lease.id, task.lease.number);
        let batch = task.lease.pending.iter().map(|one| one.ordinal).collect();
        let inner = Arc::clone(&self);
        let round = tokio::spawn(async move {
            let _held = held;
            Round::new(&inner, task).run().await;
        });
        if let Err(error) = round.await {
            tracing::error!(%id, %error, "a round of attempts broke off; it is in doubt");
            self.give_back((id, number), batch).await;
        }
    }
}

/// The lease of a message that is put with one.
fn lease_of(entry: &Entry) -> Lease {
    let pending = (0..).zip(&entry.recipients).map(|(ordinal, place)| Pending {
        ordinal,
        address: place.address.clone(),
        upstream: place.upstream.clone(),
        asked: place.asked.clone(),
    });
    Lease {
        id: entry.id,
        number: 1,
        sender: entry.sender.clone(),
        dsn: entry.dsn.clone(),
        pending: pending.collect(),
        unreported: Vec::new(),
        rounds: 0,
        noticed: false,
        received: entry.received,
        size: entry.message.len() as u64,
        details: String::new(),
    }
}
