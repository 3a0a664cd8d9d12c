//! When a deferred message is tried again, and when no more.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use crate::mail::{Id, Period};

/// `delivery.retry`: how often a deferred message is tried.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// How long after the first attempt the second comes; each further wait is twice as long, give or take a fifth.
    pub first: Period,
    /// The longest wait.
    pub max: Period,
    /// How long after its arrival a message is given up and its sender told.
    pub expire: Period,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Period::seconds(30), max: Period::seconds(3600), expire: Period::seconds(5 * 24 * 3600) }
    }
}

impl Retry {
    /// The wait behind a round of attempts, of which there were `rounds` before. Each message has a jitter of its own,
    /// so that those which were deferred together do not come back together.
    pub(super) fn wait(&self, id: Id, rounds: u32) -> Duration {
        let whole = self.first.0.saturating_mul(1_u32.checked_shl(rounds.min(31)).unwrap_or(u32::MAX)).min(self.max.0);
        let mut hasher = DefaultHasher::new();
        (id, rounds).hash(&mut hasher);
        let fifths = (hasher.finish() % 1000) as f64 / 1000.0 * 0.4;
        whole.mul_f64(0.8 + fifths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let retry = Retry::default();
        let id = Id::mint();
        for (rounds, seconds) in [(0, 30.0), (1, 60.0), (4, 480.0), (7, 3600.0), (40, 3600.0), (u32::MAX, 3600.0)] {
            let wait = retry.wait(id, rounds).as_secs_f64() / seconds;
            assert!((0.8..=1.2).contains(&wait), "{rounds}: {wait}");
        }
        let waits: std::collections::HashSet<Duration> = (0..100).map(|_| retry.wait(Id::mint(), 3)).collect();
        assert!(waits.len() > 50);
    }
}
