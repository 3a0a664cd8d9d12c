//! The dispatcher: it leases what is due, as much as the upstreams take and as there are workers, and sees to the rest
//! that has its time: health checks, lost leases, the end of history.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use crate::{
    mail::Id,
    store::{Ask, Lease, Overdue, Settlement, StoreError, Then, Try},
};

use super::{
    Queue,
    details::Details,
    queue::{Inner, LEASE},
    round::Task,
    route::{Router, Way},
};

/// Leases of one call at most.
const LEASES: usize = 256;
/// How long the dispatcher rests when the store cannot be used.
const BROKEN: Duration = Duration::from_secs(1);
/// How long the store is waited for before an outcome is offered to it again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long it rests at most.
const REST: Duration = Duration::from_secs(60);
/// How often lost leases and old history are looked for.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// How often the queue is measured.
const LOOK: Duration = Duration::from_secs(5);
/// How long after its end a lease is taken for lost; its holder may still be trying to settle it.
const LOST: Duration = Duration::from_secs(900);
/// How long a check may take.
const CHECK: Duration = Duration::from_secs(20);

/// What the dispatcher does next.
enum Pause {
    /// There may be more to do.
    None,
    /// Nothing for so long, unless somebody wakes it.
    For(Duration),
}

impl Queue {
    /// Leases and delivers until it is told to stop.
    pub async fn run(self) {
        let inner = self.0;
        loop {
            let pause = tokio::select! {
                () = inner.stopping.cancelled() => return,
                pause = inner.pass() => pause,
            };
            if let Pause::For(time) = pause {
                tokio::select! {
                    () = inner.stopping.cancelled() => return,
                    () = inner.due.notified() => {}
                    () = inner.router.changed.notified() => {}
                    () = sleep(time) => {}
                }
            }
        }
    }

    /// Removes old history, takes lost leases back and measures the queue, until it is told to stop.
    pub async fn keep_house(self, history: Duration) {
        let inner = self.0;
        let (mut ticks, mut looks) = (interval(HOUSEKEEPING), interval(LOOK));
        for each in [&mut ticks, &mut looks] {
            each.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        loop {
            tokio::select! {
                () = inner.stopping.cancelled() => return,
                _ = ticks.tick() => inner.keep_house(history).await,
                _ = looks.tick() => inner.measure().await,
            }
        }
    }
}

impl Inner {
    /// Leases once, and gives each lease to a worker.
    async fn pass(self: &Arc<Self>) -> Pause {
        let Ok(mut slots) = Arc::clone(&self.slots).acquire_owned().await else { return Pause::For(REST) };
        let allowance = self.router.allowance();
        if allowance.room == 0 {
            return Pause::For(self.router.opens_in().unwrap_or(REST).min(REST));
        }
        let more = (allowance.room.min(LEASES) - 1).min(self.slots.available_permits());
        if let Ok(permits) = Arc::clone(&self.slots).try_acquire_many_owned(u32::try_from(more).unwrap_or(0)) {
            slots.merge(permits);
        }
        let now = Timestamp::now();
        let asked = slots.num_permits();
        self.caught_up.store(true, Ordering::Release);
        let ask =
            Ask { now, until: now + LEASE, count: asked, any: allowance.any, routes: allowance.names, overdue: None };
        let leases = match self.store.lease(ask).await {
            Ok(leases) => leases,
            Err(error) => {
                self.caught_up.store(false, Ordering::Release);
                tracing::error!(%error, "nothing is delivered: the store cannot be used");
                return Pause::For(BROKEN);
            }
        };
        let count = leases.len();
        self.hand_out(leases, slots);
        if count == asked {
            self.caught_up.store(false, Ordering::Release);
            return Pause::None;
        }
        let next = self.store.next_due().await.ok().flatten();
        let until = next.and_then(|next| Duration::try_from(next.duration_since(Timestamp::now())).ok());
        // What is due and was not leased waits for an upstream that is not ready.
        let blocked = next.is_some() && until.is_none_or(|until| until.is_zero());
        let wait =
            if blocked { self.router.opens_in().map_or(REST, |wait| wait.max(BROKEN)) } else { until.unwrap_or(REST) };
        Pause::For(wait.min(REST))
    }

    /// A worker for each lease; places that are left over are given back.
    fn hand_out(self: &Arc<Self>, leases: Vec<Lease>, mut slots: OwnedSemaphorePermit) {
        for lease in leases {
            let Some(slot) = slots.split(1) else { return };
            let inner = Arc::clone(self);
            self.tasks.spawn(async move {
                let memory = inner.memory.take(usize::try_from(lease.size).unwrap_or(usize::MAX)).await;
                let details = Details::read(&lease.details);
                inner.work(Task { lease, details, message: None, booked: None }, (slot, memory)).await;
            });
        }
    }

    /// Gives workers what has waited so long that its sender has to hear of it, although no upstream may be ready.
    async fn hurry_overdue(self: &Arc<Self>, now: Timestamp) {
        let overdue = Overdue { expire: now - self.retry.expire.0, notice: self.reports.notice_before(now) };
        loop {
            let Ok(mut slots) = Arc::clone(&self.slots).acquire_owned().await else { return };
            let more = u32::try_from(self.slots.available_permits().min(LEASES)).unwrap_or(0);
            if let Ok(permits) = Arc::clone(&self.slots).try_acquire_many_owned(more) {
                slots.merge(permits);
            }
            let count = slots.num_permits();
            let ask = Ask {
                now,
                until: Timestamp::now() + LEASE,
                count,
                any: true,
                routes: Vec::new(),
                overdue: Some(overdue),
            };
            match self.store.lease(ask).await {
                Ok(leases) => {
                    let found = leases.len();
                    self.hand_out(leases, slots);
                    if found < count {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "what is overdue cannot be looked for");
                    return;
                }
            }
        }
    }

    /// Tells the metrics how long the queue is and how the upstreams are.
    async fn measure(&self) {
        for way in self.router.ways() {
            let condition = way.condition();
            self.metrics.upstream_is(&condition.name, condition.well, condition.rate);
        }
        match self.store.counts().await {
            Ok(counts) => {
                let age = counts.oldest.map_or(0, |oldest| Timestamp::now().duration_since(oldest).as_secs());
                let states = [counts.queued, counts.leased, counts.held];
                self.metrics.queue_is(states, u64::try_from(age).unwrap_or(0), counts.octets);
            }
            Err(error) => tracing::error!(%error, "the queue cannot be counted"),
        }
    }

    async fn keep_house(self: &Arc<Self>, history: Duration) {
        let now = Timestamp::now();
        self.hurry_overdue(now).await;
        match self.store.recover(now - LOST, now).await {
            Ok(0) => {}
            Ok(lost) => {
                tracing::error!(messages = lost, "leases were lost; their attempts are in doubt");
                self.wake();
            }
            Err(error) => tracing::error!(%error, "lost leases cannot be looked for"),
        }
        loop {
            match self.store.sweep(now - history).await {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "old history cannot be removed");
                    return;
                }
            }
        }
    }

    /// Queues a message again whose round broke off.
    pub(super) async fn give_back(&self, (id, lease): (Id, u64), recipients: Vec<u32>) {
        let now = Timestamp::now();
        let interrupted = Try::interrupted(now, recipients);
        let settlement = Settlement {
            id,
            lease,
            time: now,
            settled: Vec::new(),
            reported: Vec::new(),
            noticed: false,
            reports: Vec::new(),
            identities: Vec::new(),
            then: Then::Wait { due: now + self.retry.wait(id, 0), reason: interrupted.cause.clone(), counted: true },
            tries: vec![interrupted],
        };
        self.settle(settlement).await;
    }
}

impl Inner {
    /// Commits a settlement, however long the store cannot be used: what was delivered must not be delivered again for
    /// want of a row. False when the lease is not ours any more.
    pub(super) async fn settle(&self, settlement: Settlement) -> bool {
        let mut told = false;
        loop {
            match self.store.settle(settlement.clone()).await {
                Ok(()) => return true,
                Err(StoreError::Stale | StoreError::Duplicate) => {
                    tracing::error!(id = %settlement.id, "a lease was lost before it was settled");
                    return false;
                }
                Err(error) => {
                    if !told {
                        tracing::error!(id = %settlement.id, %error, "an outcome cannot be kept; trying until it can");
                    }
                    told = true;
                    sleep(AGAIN).await;
                }
            }
        }
    }
}

/// Asks each upstream how it is, until told to stop.
pub async fn look_after(router: Arc<Router>, way: Arc<Way>, stopping: tokio_util::sync::CancellationToken) {
    loop {
        let result = timeout(CHECK, way.upstream.check()).await;
        let result = result.unwrap_or_else(|_| Err(format!("no answer to a check within {} s", CHECK.as_secs())));
        if way.checked(result) {
            router.changed.notify_one();
        }
        let interval = if way.is_well() { way.checks.interval.0 } else { way.checks.interval.0 / 5 };
        tokio::select! {
            () = stopping.cancelled() => return,
            () = sleep(interval.max(Duration::from_millis(100))) => {}
        }
    }
}
