//! What a client pays for wrong passwords: each answer comes later, and after many there is none for a while.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use tokio::time::Instant;

use super::super::admission::customer;

/// Failures until a client is blocked.
const FAILURES: u32 = 10;
/// How long it is, and how long failures count.
const BLOCK: Duration = Duration::from_secs(600);
/// The wait for the answer to the first failure, doubled for each further one.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);
/// Clients that are remembered; with more, the oldest failure is forgotten.
const CLIENTS: usize = 10_000;

/// The failures of all clients.
#[derive(Debug, Default)]
pub(super) struct Penalties(HashMap<IpAddr, Failures>);

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Penalties {
    /// Whether a client gets no answer at all now.
    pub(super) fn is_blocked(&self, client: IpAddr, now: Instant) -> bool {
        let known = self.0.get(&customer(client));
        known.is_some_and(|one| one.count >= FAILURES && now.duration_since(one.last) < BLOCK)
    }

    /// Notes a failure; how long its answer waits.
    pub(super) fn failed(&mut self, client: IpAddr, now: Instant) -> Duration {
        let client = customer(client);
        if self.0.len() >= CLIENTS && !self.0.contains_key(&client) {
            self.0.retain(|_, one| now.duration_since(one.last) < BLOCK);
            let oldest = self.0.iter().min_by_key(|(_, one)| one.last).map(|(client, _)| *client);
            if let Some(oldest) = oldest.filter(|_| self.0.len() >= CLIENTS) {
                self.0.remove(&oldest);
            }
        }
        let one = self.0.entry(client).or_insert(Failures { count: 0, last: now });
        if now.duration_since(one.last) >= BLOCK {
            one.count = 0;
        }
        (one.count, one.last) = (one.count.saturating_add(1), now);
        FIRST.saturating_mul(1 << (one.count - 1).min(10)).min(LONGEST)
    }

    /// Forgets the failures of a client that knows a password.
    pub(super) fn succeeded(&mut self, client: IpAddr) {
        self.0.remove(&customer(client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_waits_longer_until_the_block() {
        let (mut penalties, now, client) = (Penalties::default(), Instant::now(), IpAddr::from([192, 0, 2, 1]));
        let waits: Vec<u128> = (0..FAILURES).map(|_| penalties.failed(client, now).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000]);
        assert!(penalties.is_blocked(client, now) && !penalties.is_blocked(IpAddr::from([192, 0, 2, 2]), now));
        assert!(!penalties.is_blocked(client, now + BLOCK));
        assert_eq!(penalties.failed(client, now + BLOCK).as_millis(), 250);
        penalties.succeeded(client);
        assert!(penalties.0.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client_and_memory_is_bounded() {
        let (mut penalties, now) = (Penalties::default(), Instant::now());
        penalties.failed("2001:db8::1".parse().unwrap(), now);
        assert_eq!(penalties.failed("2001:db8::2".parse().unwrap(), now).as_millis(), 500);
        for number in 0..CLIENTS as u32 + 100 {
            penalties.failed(IpAddr::from(number.to_be_bytes()), now + Duration::from_secs(1));
        }
        assert_eq!(penalties.0.len(), CLIENTS);
    }
}
