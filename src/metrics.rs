//! Counters for `/metrics`, in the OpenMetrics text format.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// The word for what became of something; a small fixed set.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// The name of a loaded rule.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Rule {
    rule: String,
}

/// The state of a message in the queue.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Waiting {
    state: &'static str,
}

/// The name of an upstream.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Way {
    upstream: String,
}

/// All counters; none of them is global.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    messages: Family<Outcome, Counter>,
    attempts: Family<Outcome, Counter>,
    rule_hits: Family<Rule, Counter>,
    ambiguous: Counter,
    queue: Family<Waiting, Gauge>,
    queue_age: Gauge,
    store_octets: Gauge,
    upstream_well: Family<Way, Gauge>,
    upstream_rate: Family<Way, Gauge<f64, AtomicU64>>,
    sessions: Counter,
    open: Gauge,
    lost_lines: Counter<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("headgate");
        let (messages, attempts) = (Family::<Outcome, Counter>::default(), Family::<Outcome, Counter>::default());
        let rule_hits = Family::<Rule, Counter>::default();
        registry.register("rule_hits", "Messages that a rule changed or decided", rule_hits.clone());
        let (sessions, open, lost_lines) = (Counter::default(), Gauge::default(), Counter::default());
        let ambiguous = Counter::default();
        registry.register(
            "attempts_ambiguous",
            "Attempts whose message may have been accepted although no answer said so",
            ambiguous.clone(),
        );
        registry.register("messages", "Mail transactions by their end", messages.clone());
        registry.register("attempts", "Attempts at an upstream by their outcome", attempts.clone());
        let queue = Family::<Waiting, Gauge>::default();
        let (queue_age, store_octets) = (Gauge::default(), Gauge::default());
        let upstream_well = Family::<Way, Gauge>::default();
        let upstream_rate = Family::<Way, Gauge<f64, AtomicU64>>::default();
        registry.register("queue_messages", "Messages in the queue by their state", queue.clone());
        registry.register("queue_oldest_seconds", "Age of the oldest message in the queue", queue_age.clone());
        registry.register("store_octets", "Octets that queue and history take", store_octets.clone());
        registry.register("upstream_well", "Whether an upstream gets mail", upstream_well.clone());
        registry.register("upstream_rate", "Recipients a second that an upstream gets", upstream_rate.clone());
        registry.register("sessions", "SMTP sessions begun", sessions.clone());
        registry.register("open_sessions", "SMTP sessions now", open.clone());
        registry.register("log_lines_lost", "Access log lines that could not be written", lost_lines.clone());
        for outcome in ["accepted", "refused", "discarded", "aborted"] {
            drop(messages.get_or_create(&Outcome { outcome }));
        }
        for outcome in ["delivered", "deferred", "failed"] {
            drop(attempts.get_or_create(&Outcome { outcome }));
        }
        Self {
            registry,
            messages,
            attempts,
            rule_hits,
            ambiguous,
            queue,
            queue_age,
            store_octets,
            upstream_well,
            upstream_rate,
            sessions,
            open,
            lost_lines,
        }
    }
}

impl Metrics {
    /// A transaction ended: `accepted`, `refused`, `discarded` or `aborted`.
    pub fn message(&self, outcome: &'static str) {
        self.messages.get_or_create(&Outcome { outcome }).inc();
    }

    /// An attempt ended: `delivered`, `deferred` or `failed`.
    pub fn attempt(&self, outcome: &'static str) {
        self.attempts.get_or_create(&Outcome { outcome }).inc();
    }

    /// An attempt ended in doubt.
    pub fn ambiguous(&self) {
        self.ambiguous.inc();
    }

    /// How many messages wait, are being delivered and are held; seconds since the oldest of them was taken; octets of
    /// the store.
    pub fn queue_is(&self, [queued, active, held]: [u64; 3], oldest: u64, octets: u64) {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for (state, count) in [("queued", queued), ("active", active), ("held", held)] {
            self.queue.get_or_create(&Waiting { state }).set(number(count));
        }
        self.queue_age.set(number(oldest));
        self.store_octets.set(number(octets));
    }

    /// Whether an upstream gets mail, and how many recipients a second; nothing where there is no limit.
    pub fn upstream_is(&self, name: &str, well: bool, rate: Option<f64>) {
        let way = Way { upstream: name.to_owned() };
        self.upstream_well.get_or_create(&way).set(i64::from(well));
        if let Some(rate) = rate {
            self.upstream_rate.get_or_create(&way).set(rate);
        }
    }

    /// A rule changed a message or decided about it.
    pub fn rule_hit(&self, rule: &str) {
        self.rule_hits.get_or_create(&Rule { rule: rule.to_owned() }).inc();
    }

    /// A session began.
    pub fn session_begins(&self) {
        self.sessions.inc();
        self.open.inc();
    }

    /// A session ended.
    pub fn session_ends(&self) {
        self.open.dec();
    }

    /// A line of the access log is lost.
    pub fn line_lost(&self) {
        self.lost_lines.inc();
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => format!("# {error}\n"),
        }
    }
}
