//! The pace of a connection: clients that send too slowly, that make errors without end, that talk before they are greeted,
//! and messages that wait for room.

use std::time::Duration;

use tokio::{
    io::AsyncReadExt as _,
    time::{Instant, sleep, timeout},
};

use crate::{
    mail::{Enhanced, Reply},
    smtp::{Next, Step},
};

use super::connection::Connection;

/// Errors of a session that are answered at once: everybody mistypes a line.
const FORGIVEN: u32 = 3;
/// How long a message may take whatever its rate: a client may have to read it from somewhere.
const GRACE: Duration = Duration::from_secs(60);

/// How fast a message comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began: Instant,
    octets: u64,
}

impl Pace {
    /// Begins now.
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), octets: 0 }
    }

    /// Counts what has come.
    pub(super) fn count(&mut self, octets: usize) {
        self.octets = self.octets.saturating_add(octets as u64);
    }

    /// The moment when it will have been slower than `rate` octets a second, unless more comes; nothing when any rate will do.
    pub(super) fn too_slow(&self, rate: u64) -> Option<Instant> {
        let seconds = self.octets.checked_div(rate)?;
        self.began.checked_add(GRACE.saturating_add(Duration::from_secs(seconds)))
    }
}

/// How long the answer to the error with that number waits: each twice as long as the one before, up to `most`.
fn delay(errors: u32, most: Duration) -> Duration {
    let Some(beyond) = errors.checked_sub(FORGIVEN + 1) else { return Duration::ZERO };
    Duration::from_secs(1 << beyond.min(16)).min(most)
}

impl Connection {
    /// Whether the client is one of the house: on this machine, or allowed to relay.
    fn is_known(&self) -> bool {
        let address = self.session.client().address;
        address.is_loopback() || self.house.offer.allow.iter().any(|network| network.contains(&address))
    }

    /// Before the greeting a client has nothing to say (RFC 5321 section 3.1); who does is answered and sent away.
    pub(super) async fn greet(&mut self) -> Option<Step> {
        let wait = self.house.limits.greet_delay.0;
        if !wait.is_zero() && !self.is_known() {
            let stopping = self.house.shared.stopping.clone();
            let early = tokio::select! {
                early = timeout(wait, self.stream.read_buf(self.codec.buffer())) => early,
                () = stopping.cancelled() => return Some(self.session.close(421, Enhanced(4, 3, 2), "is shutting down")),
            };
            match early {
                Ok(Ok(0) | Err(_)) => return Some(Step { reply: None, event: None, next: Next::Close }),
                Ok(Ok(_)) => {
                    let text = "The greeting comes first; goodbye";
                    return Some(self.session.close(554, Enhanced(5, 5, 1), text));
                }
                Err(_) => {}
            }
        }
        self.session.greeting().write(&mut self.out);
        None
    }

    /// Lets the answer to one error too many wait; what was said before it goes out first.
    pub(super) async fn tarpit(&mut self, reply: &Reply) -> std::io::Result<()> {
        let wait = delay(self.session.errors(), self.house.limits.tarpit.0);
        if wait.is_zero() || !reply.is_error() || self.is_known() {
            return Ok(());
        }
        self.flush().await?;
        let stopping = self.house.shared.stopping.clone();
        tokio::select! {
            () = sleep(wait) => {}
            () = stopping.cancelled() => {}
        }
        Ok(())
    }

    /// Waits for room for a message whose size is known, and answers its MAIL.
    ///
    /// Who waits holds nothing yet, so that nobody waits for them.
    pub(super) async fn make_room(&mut self, size: u64) -> std::io::Result<bool> {
        let octets = usize::try_from(size).unwrap_or(usize::MAX);
        if self.share.cover(octets) {
            return Ok(true);
        }
        self.flush().await?;
        let stopping = self.house.shared.stopping.clone();
        let patience = self.house.limits.room_wait.0;
        Ok(tokio::select! {
            room = timeout(patience, self.share.wait(octets)) => room.is_ok(),
            () = stopping.cancelled() => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_grace_and_then_its_rate() {
        let mut pace = Pace::begin();
        let seconds = |pace: &Pace, rate| pace.too_slow(rate).map(|until| until.duration_since(pace.began).as_secs());
        assert_eq!(seconds(&pace, 500), Some(60));
        pace.count(499);
        assert_eq!(seconds(&pace, 500), Some(60));
        pace.count(50_000);
        assert_eq!(seconds(&pace, 500), Some(160));
        assert_eq!(seconds(&pace, 0), None);
        pace.count(usize::MAX);
        let _ = pace.too_slow(1);
    }

    #[test]
    fn each_error_beyond_the_forgiven_waits_longer() {
        let most = Duration::from_secs(10);
        let waits: Vec<u64> = (0..=9).map(|errors| delay(errors, most).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 10, 10]);
        assert_eq!(delay(u32::MAX, Duration::ZERO), Duration::ZERO);
    }
}
