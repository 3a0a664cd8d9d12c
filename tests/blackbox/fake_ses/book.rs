//! The record of send calls. Enter: calls and their fates; leave: copies and counts, and a wake-up for who waits.
//! It must not know HTTP or what SES refuses.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::call::{Call, Fate};
use super::locked;

/// How many calls there were so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Send calls in the record.
    pub received: u64,
    /// Of these: accepted by SES, whether or not the client was told.
    pub accepted: u64,
    /// Of these: answered with an error.
    pub refused: u64,
    /// Of these: read and cut, nothing accepted.
    pub ambiguous: u64,
    /// Send calls whose request was not read to its end; not in the record.
    pub unread: u64,
    /// Destinations of all accepted calls.
    pub recipients: u64,
    /// GetAccount calls.
    pub account: u64,
}

impl Counts {
    /// Calls that wait for their answer.
    pub fn pending(&self) -> u64 {
        self.received - self.accepted - self.refused - self.ambiguous
    }

    fn add(&mut self, call: &Call) {
        match call.fate {
            Fate::Pending => {}
            Fate::Accepted { .. } => {
                self.accepted += 1;
                self.recipients += call.recipients().count() as u64;
            }
            Fate::Refused(_) => self.refused += 1,
            Fate::Ambiguous => self.ambiguous += 1,
        }
    }
}

/// The record itself.
#[derive(Default)]
pub(super) struct Book {
    pages: Mutex<Pages>,
    changed: Condvar,
}

#[derive(Default)]
struct Pages {
    calls: Vec<Call>,
    counts: Counts,
}

/// Where a call stands in the record.
#[derive(Clone, Copy)]
pub(super) struct Place(usize);

impl Book {
    /// Records a call with the fate it has by now.
    pub(super) fn enter(&self, call: Call) -> Place {
        let mut pages = locked(&self.pages);
        pages.counts.received += 1;
        pages.counts.add(&call);
        pages.calls.push(call);
        self.changed.notify_all();
        Place(pages.calls.len() - 1)
    }

    /// Ends the waiting of a call that was recorded as pending.
    pub(super) fn settle(&self, place: Place, fate: Fate) {
        let mut pages = locked(&self.pages);
        let Pages { calls, counts } = &mut *pages;
        if let Some(call) = calls.get_mut(place.0) {
            call.fate = fate;
            counts.add(call);
        }
        self.changed.notify_all();
    }

    /// Changes the counts that no recorded call stands behind.
    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut locked(&self.pages).counts);
        self.changed.notify_all();
    }

    pub(super) fn counts(&self) -> Counts {
        locked(&self.pages).counts
    }

    /// Copies of the wanted calls, by number: a short request may overtake a long one that arrived first.
    pub(super) fn calls(&self, wanted: impl Fn(&Call) -> bool) -> Vec<Call> {
        let pages = locked(&self.pages);
        let mut calls: Vec<Call> = pages.calls.iter().filter(|c| wanted(c)).cloned().collect();
        drop(pages);
        calls.sort_by_key(|call| call.number);
        calls
    }

    pub(super) fn wait_until(&self, timeout: Duration, holds: impl Fn(&Counts) -> bool) -> bool {
        let waits = |pages: &mut Pages| !holds(&pages.counts);
        let (_pages, result) = self
            .changed
            .wait_timeout_while(locked(&self.pages), timeout, waits)
            .unwrap_or_else(PoisonError::into_inner);
        !result.timed_out()
    }
}
