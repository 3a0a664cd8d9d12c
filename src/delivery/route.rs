//! Which upstream is next.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::upstream::Upstream;

/// Shares the mail among upstreams by their weights.
pub struct Router {
    turns: Vec<Arc<dyn Upstream>>,
    next: AtomicUsize,
}

impl Router {
    /// Upstreams with their weights; one of weight 0 gets nothing.
    pub fn new(upstreams: &[(Arc<dyn Upstream>, u32)]) -> Self {
        let heaviest = upstreams.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
        // Round by round, so that a heavy upstream's turns do not all come together.
        let rounds = (0..heaviest).flat_map(|round| upstreams.iter().filter(move |(_, weight)| *weight > round));
        Self { turns: rounds.map(|(upstream, _)| Arc::clone(upstream)).collect(), next: AtomicUsize::new(0) }
    }

    /// The upstream for the next message.
    pub fn choose(&self) -> Option<Arc<dyn Upstream>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.turns.get(turn.checked_rem(self.turns.len())?).cloned()
    }
}
