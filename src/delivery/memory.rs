//! Memory for attempts: taken whole, by one that holds nothing of it yet, so that none waits for another for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Octets that one permit stands for.
const UNIT: usize = 1024;
/// An attempt holds the message, its base64 form and the request made of that.
const COPIES: usize = 3;

/// What attempts may take together.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    permits: Arc<Semaphore>,
    units: usize,
}

impl Memory {
    /// That many octets.
    pub(super) fn new(octets: usize) -> Self {
        let units = (octets / UNIT).clamp(1, u32::MAX as usize >> 4);
        Self { permits: Arc::new(Semaphore::new(units)), units }
    }

    fn units_of(&self, message: usize) -> u32 {
        let units = message.saturating_mul(COPIES).div_ceil(UNIT).clamp(1, self.units);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Room for an attempt with a message of that many octets; the largest gets all there is.
    pub(super) async fn take(&self, message: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_many_owned(self.units_of(message)).await.ok()
    }

    /// The same, if there is room now.
    pub(super) fn try_take(&self, message: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_many_owned(self.units_of(message)).ok()
    }
}
