//! The way out: upstreams, router, store and sink, and the tasks that keep them going.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::Settings,
    delivery::{self, Checks, Direct, Mode, Pace, Parts, Queue, Reports, Router, Sorting, Way, look_after},
    intake::{Intake, Sink},
    log::AccessLog,
    mail::Address,
    metrics::Metrics,
    operator::{self, Doors, Operator, Socket},
    rules::{Rules, SourceText},
    store::{Sqlite, Store},
    upstream::{self, Kind, Rate, Site, Upstream},
};

use super::StartError;

/// All that stands behind the door.
pub(super) struct Outward {
    /// Takes what the door lets through.
    pub(super) sink: Arc<dyn Sink>,
    /// The upstreams with their weights, in the order of the settings.
    pub(super) upstreams: Vec<Arc<dyn Upstream>>,
    /// The queue, when there is a store.
    pub(super) queue: Option<Queue>,
    store: Option<Kept>,
    router: Arc<Router>,
    /// The door for reports.
    reports: Arc<Intake>,
    stopping: CancellationToken,
}

/// The store and where it is.
struct Kept {
    store: Arc<dyn Store>,
    path: PathBuf,
    history: Duration,
}

/// What the way out shares with the rest.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) log: Arc<AccessLog>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) tasks: TaskTracker,
    pub(super) stopping: CancellationToken,
}

impl Outward {
    /// Builds it all; nothing is sent yet.
    pub(super) async fn build(settings: &Settings, shared: Shared) -> Result<Self, StartError> {
        let bounce = address_of_bounces(settings);
        let site = site(settings);
        let mut upstreams = Vec::new();
        let mut ways = Vec::new();
        for one in &settings.upstreams {
            let upstream = upstream::build(one, &site).await?;
            let upstream::Health { interval, rise, fall } = one.health;
            ways.push(Way::new(Arc::clone(&upstream), one.weight, pace(one), Checks { interval, rise, fall }));
            upstreams.push(upstream);
        }
        let router = Arc::new(Router::new(ways));
        let store = open(settings)?;
        let memory = settings.limits.memory.octets() / 2;
        let door = Arc::new(super::intake(settings, shipped_rules(), &upstreams, shared.log.header_fields()));
        let queue = store.as_ref().map(|kept| {
            Queue::new(Parts {
                store: Arc::clone(&kept.store),
                router: Arc::clone(&router),
                reports: Reports {
                    intake: Arc::clone(&door),
                    hostname: settings.own_name(),
                    from: bounce,
                    delay_notice: settings.bounce.delay_notice.0,
                },
                retry: settings.delivery.retry,
                concurrency: settings.delivery.concurrency,
                memory,
                log: Arc::clone(&shared.log),
                metrics: Arc::clone(&shared.metrics),
                tasks: shared.tasks.clone(),
                stopping: shared.stopping.clone(),
            })
        });
        let stopping = shared.stopping.clone();
        let behind = delivery::Shared { log: shared.log, metrics: shared.metrics, tasks: shared.tasks };
        let direct = || Direct::new(Arc::clone(&router), &settings.delivery, memory, behind);
        let sink: Arc<dyn Sink> = match (settings.delivery.mode, &queue) {
            (Mode::Queue, Some(queue)) => Arc::new(queue.clone()),
            (_, Some(queue)) => Arc::new(Sorting { direct: direct(), queue: queue.clone() }),
            (_, None) => Arc::new(direct()),
        };
        Ok(Self { sink, upstreams, queue, store, router, reports: door, stopping })
    }

    /// Begins to deliver and to look after the upstreams.
    pub(super) fn start(&self) {
        if let (Some(queue), Some(kept)) = (&self.queue, &self.store) {
            tokio::spawn(queue.clone().run());
            tokio::spawn(queue.clone().keep_house(kept.history));
        }
        for way in self.router.ways() {
            tokio::spawn(look_after(Arc::clone(&self.router), Arc::clone(way), self.stopping.clone()));
        }
    }

    /// The control socket beside the store. A gateway that cannot have one takes mail all the same.
    pub(super) fn control(&self) -> Option<Socket> {
        let path = operator::path_of(&self.store.as_ref()?.path);
        Socket::bind(&path)
            .inspect_err(|error| tracing::warn!("no control socket, so no `headgate queue` while this runs: {error}"))
            .ok()
    }

    /// What does to the queue what an operator wants, with that door.
    pub(super) fn operator(&self, mail: Arc<Intake>, settings: &Settings) -> Option<Arc<Operator>> {
        let operator = Operator {
            store: Arc::clone(&self.store.as_ref()?.store),
            queue: self.queue.clone(),
            router: Some(Arc::clone(&self.router)),
            doors: Some(Doors { mail, reports: Arc::clone(&self.reports) }),
            message_size: settings.limits.message_size,
        };
        Some(Arc::new(operator))
    }
}

/// What upstreams know of the gateway.
pub(super) fn site(settings: &Settings) -> Site {
    Site { hostname: settings.own_name(), bounce: address_of_bounces(settings), ..Site::default() }
}

fn address_of_bounces(settings: &Settings) -> Option<Address> {
    Address::parse(&settings.bounce.from).ok()
}

/// Only SES has a rate that may be told; a Maildir has none.
fn pace(upstream: &upstream::Settings) -> Pace {
    match upstream.rate {
        Rate::PerSecond(rate) => Pace::Fixed(rate),
        Rate::Auto if upstream.is_ses() && upstream.kind != Kind::Outbox => Pace::Told,
        Rate::Auto => Pace::Unlimited,
    }
}

/// The rules for reports: no rule of a site can lose one.
pub(super) fn shipped_rules() -> Arc<Rules> {
    let sources: Vec<SourceText> = SourceText::builtin("ses").into_iter().collect();
    Arc::new(Rules::compile(&sources, &BTreeMap::new()).unwrap_or_else(|_| Rules::none()))
}

fn open(settings: &Settings) -> Result<Option<Kept>, StartError> {
    let Some(store) = &settings.store else { return Ok(None) };
    let Some(path) = store.path() else { return Ok(None) };
    let opened = Sqlite::open(path, store.size, Timestamp::now()).map_err(StartError::Store)?;
    Ok(Some(Kept { store: Arc::new(opened), path: path.to_owned(), history: store.history.0 }))
}
