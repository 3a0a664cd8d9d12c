//! Connections that wait for the next message.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::time::timeout;

use super::connection::Peer;

/// Connections that wait at most.
const IDLE: usize = 8;
/// How long one may have waited; servers close idle ones, some without a word.
const AGE: Duration = Duration::from_secs(20);
/// How long a waiting server may take to say that it is still there.
const ANSWER: Duration = Duration::from_secs(5);

/// Idle connections, the last used on top.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(Peer, Instant)>>);

impl Pool {
    /// One that has just answered RSET, so that no message is risked on a connection that is gone.
    pub async fn take(&self) -> Option<Peer> {
        while let Some(mut peer) = self.pop() {
            if let Ok(true) = timeout(ANSWER, peer.reset()).await {
                return Some(peer);
            }
        }
        None
    }

    /// Keeps one for later.
    pub fn put(&self, peer: Peer) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < AGE);
        if idle.len() < IDLE {
            idle.push((peer, Instant::now()));
        }
    }

    fn pop(&self) -> Option<Peer> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < AGE);
        idle.pop().map(|(peer, _)| peer)
    }
}
