//! Identifiers in the shape of SES's own. Leave: strings that no other call, and no other fake, has.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The counters behind them.
pub(super) struct Ids {
    seed: u64,
    calls: AtomicU64,
    requests: AtomicU64,
}

impl Ids {
    /// The port sets apart the fakes that run at the same time.
    pub(super) fn new(port: u16) -> Self {
        Self { seed: mixed(millis() << 16 ^ u64::from(port)), calls: AtomicU64::new(0), requests: AtomicU64::new(0) }
    }

    /// The number of the next send call, from 1.
    pub(super) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// `0100`, the time in milliseconds, and a UUID that no other call has.
    pub(super) fn message(&self, call: u64) -> String {
        format!(
            "0100{:012x}-{}-000000",
            millis() & 0xffff_ffff_ffff,
            uuid(mixed(self.seed.wrapping_add(call)), self.seed)
        )
    }

    /// A UUID for `x-amzn-requestid`.
    pub(super) fn request(&self) -> String {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        uuid(self.seed, mixed(self.seed.wrapping_add(request)))
    }
}

fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Scatters a counter over all 64 bits, each input to an output of its own (an xorshift-multiply permutation).
fn mixed(counter: u64) -> u64 {
    let first = (counter ^ (counter >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let second = (first ^ (first >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    second ^ (second >> 32)
}

fn uuid(high: u64, low: u64) -> String {
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
