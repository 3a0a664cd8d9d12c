//! Which upstream is next: by weight, among those that are well and not too fast.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::{
    mail::{Outcome, Pressure},
    upstream::{Capacity, Upstream},
};

use super::{
    health::{Checks, Health},
    rate::{Bucket, Pace},
};

/// One upstream, with what delivery knows of it.
pub struct Way {
    /// Sends.
    pub upstream: Arc<dyn Upstream>,
    weight: u32,
    /// How it is looked after.
    pub checks: Checks,
    inside: Mutex<Inside>,
}

struct Inside {
    bucket: Bucket,
    health: Health,
}

/// How an upstream is, for those who look.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// Its share of the mail.
    pub weight: u32,
    /// Whether it gets mail.
    pub well: bool,
    /// Why it was last found ill.
    pub cause: String,
    /// Recipients a second now; nothing when there is no limit.
    pub rate: Option<f64>,
    /// Seconds until it takes mail again.
    pub opens_in: Option<f64>,
}

impl Way {
    /// An upstream that is taken for well.
    pub fn new(upstream: Arc<dyn Upstream>, weight: u32, pace: Pace, checks: Checks) -> Self {
        let inside = Inside { bucket: Bucket::new(pace, Instant::now()), health: Health::new(checks) };
        Self { upstream, weight, checks, inside: Mutex::new(inside) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.upstream.name()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it gets mail at all.
    pub fn is_well(&self) -> bool {
        self.inside().health.is_well()
    }

    /// How long until it takes mail; nothing when it is ill.
    fn ready_in(&self, now: Instant) -> Option<Duration> {
        let mut inside = self.inside();
        inside.health.is_well().then(|| inside.bucket.ready_in(now))
    }

    fn room(&self, now: Instant) -> usize {
        let mut inside = self.inside();
        if inside.health.is_well() { inside.bucket.room(now) } else { 0 }
    }

    /// Takes the tokens of an attempt.
    fn take(&self, now: Instant, recipients: usize) {
        self.inside().bucket.take(now, recipients);
    }

    /// Learns from an outcome: what it says of the pace and of the upstream's health.
    pub fn heard(&self, outcome: &Outcome) {
        let (now, name) = (Instant::now(), self.name());
        let mut inside = self.inside();
        match outcome.pressure {
            Some(Pressure::Rate) => {
                inside.bucket.throttled(now);
                tracing::debug!(upstream = name, rate = inside.bucket.rate(), "throttled");
            }
            Some(Pressure::Quota) => {
                if let Some(wait) = inside.bucket.used_up(now) {
                    tracing::warn!(
                        upstream = name,
                        minutes = wait.as_secs() / 60,
                        "the daily quota is used up; mail waits until it opens, and is tried again by then at the latest"
                    );
                }
            }
            None => {}
        }
        // X.4.X is the network (RFC 3463 section 3.5); any other answer shows that it is there.
        let network = outcome.reply.enhanced().is_some_and(|code| code.0 == 4 && code.1 == 4);
        let result = if network { Err(outcome.cause.as_str()) } else { Ok(()) };
        self.judge(&mut inside, result);
    }

    /// Learns from a check; whether its state changed.
    pub(super) fn checked(&self, result: Result<Capacity, String>) -> bool {
        let mut inside = self.inside();
        if let Ok(capacity) = &result
            && inside.bucket.told(Instant::now(), capacity)
        {
            tracing::info!(upstream = self.name(), "the daily quota is open again");
        }
        self.judge(&mut inside, result.as_ref().map(|_| ()).map_err(String::as_str))
    }

    fn judge(&self, inside: &mut Inside, result: Result<(), &str>) -> bool {
        let changed = inside.health.heard(result);
        if changed && inside.health.is_well() {
            tracing::info!(upstream = self.name(), "well again");
        } else if changed {
            tracing::error!(
                upstream = self.name(),
                cause = inside.health.cause,
                "ill; it gets no mail until it is well"
            );
        }
        changed
    }

    /// How it is now.
    pub fn condition(&self) -> Condition {
        let mut inside = self.inside();
        let opens = inside.bucket.ready_in(Instant::now());
        Condition {
            name: self.name().to_owned(),
            weight: self.weight,
            well: inside.health.is_well(),
            cause: inside.health.cause.clone(),
            rate: Some(inside.bucket.rate()).filter(|rate| rate.is_finite()),
            opens_in: Some(opens.as_secs_f64()).filter(|seconds| *seconds > 0.0),
        }
    }
}

/// What a router says to a wish.
pub enum Choice {
    /// That one, now; its tokens are taken.
    Now(Arc<Way>),
    /// One will take it in so long.
    Later(Duration),
    /// None is well.
    Ill(String),
    /// There is none such.
    Nowhere(String),
}

/// What may be sent now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Recipients.
    pub(super) room: usize,
    /// Whether an upstream that takes any mail is ready.
    pub(super) any: bool,
    /// The upstreams that are ready.
    pub(super) names: Vec<String>,
}

/// Shares the mail among upstreams.
pub struct Router {
    ways: Vec<Arc<Way>>,
    turns: Vec<Arc<Way>>,
    next: AtomicUsize,
    /// Told when an upstream is well again.
    pub changed: Notify,
}

impl Router {
    /// A router of those upstreams; one of weight 0 gets only what a rule sends to it.
    pub fn new(ways: Vec<Way>) -> Self {
        let ways: Vec<Arc<Way>> = ways.into_iter().map(Arc::new).collect();
        let heaviest = ways.iter().map(|way| way.weight).max().unwrap_or(0);
        // Round by round, so that a heavy upstream's turns do not all come together.
        let rounds = (0..heaviest).flat_map(|round| ways.iter().filter(move |way| way.weight > round));
        Self { turns: rounds.cloned().collect(), ways: ways.clone(), next: AtomicUsize::new(0), changed: Notify::new() }
    }

    /// All upstreams.
    pub fn ways(&self) -> &[Arc<Way>] {
        &self.ways
    }

    /// The upstream for an attempt: the one that a rule named, else the next in turn that takes mail now.
    pub fn choose(&self, named: Option<&str>, recipients: usize) -> Choice {
        let now = Instant::now();
        let candidates: Vec<&Arc<Way>> = match named {
            Some(name) => self.ways.iter().filter(|way| way.name() == name).collect(),
            None => {
                let turn = self.next.fetch_add(1, Ordering::Relaxed);
                let length = self.turns.len().max(1);
                self.turns.iter().cycle().skip(turn % length).take(self.turns.len()).collect()
            }
        };
        let mut soonest: Option<Duration> = None;
        for way in &candidates {
            match way.ready_in(now) {
                Some(Duration::ZERO) => {
                    way.take(now, recipients);
                    return Choice::Now(Arc::clone(way));
                }
                Some(wait) => soonest = Some(soonest.map_or(wait, |known| known.min(wait))),
                None => {}
            }
        }
        match (soonest, candidates.first(), named) {
            (Some(wait), _, _) => Choice::Later(wait),
            (None, Some(way), _) => Choice::Ill(format!("{}: {}", way.name(), way.condition().cause)),
            (None, None, Some(name)) => Choice::Nowhere(format!("a rule asks for upstream {name}, which there is not")),
            (None, None, None) => Choice::Nowhere("no upstream has a weight".to_owned()),
        }
    }

    /// What may be sent now, in all.
    pub(super) fn allowance(&self) -> Allowance {
        let now = Instant::now();
        let mut allowance = Allowance::default();
        for way in &self.ways {
            let room = way.room(now);
            if room > 0 {
                allowance.room = allowance.room.saturating_add(room);
                allowance.any |= way.weight > 0;
                allowance.names.push(way.name().to_owned());
            }
        }
        allowance
    }

    /// How long until any upstream takes mail; nothing when none is well.
    pub(super) fn opens_in(&self) -> Option<Duration> {
        let now = Instant::now();
        self.ways.iter().filter_map(|way| way.ready_in(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        mail::{Enhanced, Envelope, Message, Outcomes, Period, Reply, Soon},
        upstream::{Attempt, Finding},
    };

    use super::*;

    struct Named(&'static str);

    impl Upstream for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn lint(&self, _: &Envelope, _: &Message) -> Vec<Finding> {
            Vec::new()
        }

        fn batch(&self) -> usize {
            50
        }

        fn send(&self, _: Attempt) -> Soon<'_, Outcomes> {
            Box::pin(std::future::ready(Outcomes::All(unreachable())))
        }

        fn check(&self) -> Soon<'_, Result<Capacity, String>> {
            Box::pin(std::future::ready(Ok(Capacity::default())))
        }
    }

    fn unreachable() -> Outcome {
        Outcome::refused(Reply::new(451, Enhanced(4, 4, 1), "SES cannot be reached"), "refused")
    }

    fn router(weights: &[(&'static str, u32)], pace: Pace) -> Router {
        let checks = Checks { interval: Period::seconds(1), rise: 1, fall: 2 };
        Router::new(
            weights.iter().map(|(name, weight)| Way::new(Arc::new(Named(name)), *weight, pace, checks)).collect(),
        )
    }

    fn turns(router: &Router, named: Option<&str>, count: usize) -> Vec<String> {
        let choose = |_| match router.choose(named, 1) {
            Choice::Now(way) => way.name().to_owned(),
            Choice::Later(_) => "later".to_owned(),
            Choice::Ill(_) => "ill".to_owned(),
            Choice::Nowhere(_) => "nowhere".to_owned(),
        };
        (0..count).map(choose).collect()
    }

    #[test]
    fn mail_is_shared_by_weight() {
        let router = router(&[("a", 1), ("b", 3), ("none", 0)], Pace::Unlimited);
        assert_eq!(turns(&router, None, 8), ["a", "b", "b", "b", "a", "b", "b", "b"]);
        assert_eq!(turns(&router, Some("none"), 1), ["none"]);
        assert_eq!(turns(&router, Some("other"), 1), ["nowhere"]);
    }

    #[test]
    fn without_a_weight_there_is_nowhere_to_go() {
        assert_eq!(turns(&router(&[("none", 0)], Pace::Unlimited), None, 1), ["nowhere"]);
    }

    #[test]
    fn the_unhealthy_get_no_mail_until_they_recover() {
        let router = router(&[("a", 1), ("b", 1)], Pace::Unlimited);
        let a = &router.ways()[0];
        a.heard(&unreachable());
        a.heard(&unreachable());
        assert_eq!(turns(&router, None, 3), ["b", "b", "b"]);
        assert_eq!(turns(&router, Some("a"), 1), ["ill"]);
        assert_eq!(router.allowance().names, ["b"]);
        assert!(a.checked(Ok(Capacity::default())));
        assert_eq!(turns(&router, None, 2).len(), 2);
        assert_eq!(router.allowance().names, ["a", "b"]);
    }

    #[test]
    fn one_that_is_too_fast_waits_and_the_other_gets_more() {
        let router = router(&[("a", 1), ("b", 1)], Pace::Fixed(1.0));
        let mut seen = turns(&router, None, 3);
        seen.sort();
        assert_eq!(seen, ["a", "b", "later"]);
    }
}
