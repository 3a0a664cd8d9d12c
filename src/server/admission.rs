//! Who may come in now, and how much memory incoming messages may take.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

/// An address, or the network that one customer of an IPv6 provider has: a client may take any address of it.
pub(super) fn customer(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) if address.is_loopback() => client,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// Octets of each message that need no budget: the number of connections bounds them.
pub(super) const FREE: usize = 64 << 10;

/// Counts connections, in all and by client.
#[derive(Debug)]
pub(super) struct Admission {
    most: usize,
    most_per_client: usize,
    clients: Mutex<HashMap<IpAddr, usize>>,
    all: AtomicUsize,
}

/// A connection that was let in; gives its place back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    admission: Arc<Admission>,
    client: Option<IpAddr>,
}

/// Why a connection was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    House,
    Client,
}

impl Admission {
    pub(super) fn new(most: usize, most_per_client: usize) -> Arc<Self> {
        Arc::new(Self { most, most_per_client, clients: Mutex::default(), all: AtomicUsize::new(0) })
    }

    /// Lets a connection in whose client is not known yet.
    pub(super) fn enter(self: &Arc<Self>) -> Result<Place, Full> {
        let more = |all: usize| (all < self.most).then_some(all + 1);
        self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| Full::House)?;
        Ok(Place { admission: Arc::clone(self), client: None })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Counts it as this client's.
    pub(super) fn count(&mut self, client: IpAddr) -> Result<(), Full> {
        let client = customer(client);
        let mut clients = self.admission.clients();
        let count = clients.entry(client).or_default();
        if *count >= self.admission.most_per_client {
            return Err(Full::Client);
        }
        *count += 1;
        drop(clients);
        self.client = Some(client);
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(client) = self.client {
            let mut clients = self.admission.clients();
            if let Some(count) = clients.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    clients.remove(&client);
                }
            }
        }
        self.admission.all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Octets that incoming messages may hold together.
///
/// Nobody who holds some of it waits for more, so that messages half read cannot block each other: one that finds no room
/// while it is read is put off with 452. One that says its size waits at MAIL, where it holds nothing yet.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
    returned: Notify,
}

/// What one message has taken of the budget; given back with it, or when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    taken: usize,
}

impl Budget {
    pub(super) fn new(octets: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(octets), returned: Notify::new() })
    }

    pub(super) fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), taken: 0 }
    }
}

impl Share {
    /// Makes the share cover that many octets; false when there is no room.
    pub(super) fn cover(&mut self, octets: usize) -> bool {
        let Some(more) = octets.saturating_sub(FREE).checked_sub(self.taken) else { return true };
        let take = |left: usize| left.checked_sub(more);
        let room = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        self.taken += if room { more } else { 0 };
        room
    }

    /// Makes the share, which covers nothing yet, cover that many octets as soon as there is room.
    pub(super) async fn wait(&mut self, octets: usize) {
        let budget = Arc::clone(&self.budget);
        loop {
            let returned = budget.returned.notified();
            tokio::pin!(returned);
            // What is given back between the look and the wait is heard.
            returned.as_mut().enable();
            if self.cover(octets) {
                return;
            }
            returned.await;
        }
    }

    /// Gives back what it covers.
    pub(super) fn give_back(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        if taken > 0 {
            self.budget.left.fetch_add(taken, Ordering::Relaxed);
            self.budget.returned.notify_waiters();
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_given_back() {
        let admission = Admission::new(3, 2);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let admit = |client| {
            let mut place = admission.enter()?;
            place.count(client).map(|()| place)
        };
        let first = admit(one).unwrap();
        let _second = admit(one).unwrap();
        assert_eq!(admit(one).unwrap_err(), Full::Client);
        let _third = admit(other).unwrap();
        assert_eq!(admit(other).unwrap_err(), Full::House);
        drop(first);
        assert!(admit(one).is_ok());
    }

    #[test]
    fn a_customer_of_an_ipv6_provider_is_one_client() {
        let admission = Admission::new(9, 1);
        let count = |client: &str| {
            let mut place = admission.enter().unwrap();
            place.count(client.parse().unwrap()).map(|()| place)
        };
        let _one = count("2001:db8:0:1::1").unwrap();
        assert_eq!(count("2001:db8:0:1:ffff::2").unwrap_err(), Full::Client);
        assert!(count("2001:db8:0:2::1").is_ok() && count("::1").is_ok());
    }

    #[tokio::test]
    async fn who_waits_gets_what_is_given_back() {
        let budget = Budget::new(1000);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.cover(FREE + 600) && !other.cover(FREE + 600));
        let waiting = tokio::spawn(async move { other.wait(FREE + 600).await });
        tokio::task::yield_now().await;
        drop(one);
        waiting.await.unwrap();
    }

    #[test]
    fn the_budget_is_never_exceeded_and_given_back() {
        let budget = Budget::new(1000);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.cover(FREE) && one.cover(FREE + 600));
        assert!(!other.cover(FREE + 500));
        assert!(other.cover(FREE + 400));
        other.give_back();
        assert!(other.cover(FREE + 400) && !other.cover(FREE + 401));
        drop(one);
        assert!(other.cover(FREE + 1000));
    }
}
