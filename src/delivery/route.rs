//! Which upstream is next.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::upstream::Upstream;

/// Shares the mail among upstreams by their weights.
pub struct Router {
    all: Vec<Arc<dyn Upstream>>,
    turns: Vec<Arc<dyn Upstream>>,
    next: AtomicUsize,
}

impl Router {
    /// Upstreams with their weights; one of weight 0 gets nothing.
    pub fn new(upstreams: &[(Arc<dyn Upstream>, u32)]) -> Self {
        let heaviest = upstreams.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
        // Round by round, so that a heavy upstream's turns do not all come together.
        let rounds = (0..heaviest).flat_map(|round| upstreams.iter().filter(move |(_, weight)| *weight > round));
        let all = upstreams.iter().map(|(upstream, _)| Arc::clone(upstream)).collect();
        Self { all, turns: rounds.map(|(upstream, _)| Arc::clone(upstream)).collect(), next: AtomicUsize::new(0) }
    }

    /// The upstream for the next message: the one that a rule named, else the next in turn.
    pub fn choose(&self, named: Option<&str>) -> Option<Arc<dyn Upstream>> {
        if let Some(name) = named {
            return self.all.iter().find(|upstream| upstream.name() == name).cloned();
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.turns.get(turn.checked_rem(self.turns.len())?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        mail::{Enhanced, Envelope, Message, Outcome, Outcomes, Reply, Soon},
        upstream::{Attempt, Capacity, Finding},
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
            let outcome = Outcome::refused(Reply::new(451, Enhanced(4, 0, 0), "no"), "no");
            Box::pin(std::future::ready(Outcomes::All(outcome)))
        }

        fn check(&self) -> Soon<'_, Result<Capacity, String>> {
            Box::pin(std::future::ready(Ok(Capacity::default())))
        }
    }

    fn turns(weights: &[(&'static str, u32)], count: usize) -> Vec<String> {
        let upstreams: Vec<(Arc<dyn Upstream>, u32)> =
            weights.iter().map(|(name, weight)| (Arc::new(Named(name)) as Arc<dyn Upstream>, *weight)).collect();
        let router = Router::new(&upstreams);
        (0..count).filter_map(|_| router.choose(None)).map(|upstream| upstream.name().to_owned()).collect()
    }

    #[test]
    fn mail_is_shared_by_weight() {
        assert_eq!(turns(&[("a", 1), ("b", 3), ("none", 0)], 8), ["a", "b", "b", "b", "a", "b", "b", "b"]);
        assert_eq!(turns(&[("none", 0)], 3), [""; 0]);
    }
}
