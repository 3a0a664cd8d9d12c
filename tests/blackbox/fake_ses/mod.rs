//! A strict fake of Amazon SES (API v2) on a loopback port.
//!
//! Enters: HTTP requests for SendEmail (raw content), for the account and for its identities, and a test's wishes for the
//! answers.
//! Leaves: SES's answers, and a record of every send call that a test may question.
//! It must not know the product: it uses none of its code, so that the two can disagree.
//!
//! What becomes of one request:
//!
//! ```text
//! head ─http→ number, scripted answer ─body→ request (JSON → Call) ─law→ refusal or none ─book→ recorded ─→ answer
//! ```
//!
//! A call is in the record before its answer is on the wire, so a client that has its answer finds its call there.
//! The fake owns one thread with a runtime of its own; dropping it closes every connection.
#![allow(dead_code)] // Each test binary and each bench uses a part of it.

mod account;
mod address;
mod answer;
mod book;
mod call;
mod fields;
mod http;
mod identities;
mod ids;
mod law;
mod names;
mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

#[allow(unused_imports)] // As above: not every user names every type.
pub use self::{
    account::{Account, Standing},
    answer::{Answer, Refusal},
    book::Counts,
    call::{Call, Fate},
    identities::Identity,
};

use self::answer::Plan;
use self::book::Book;
use self::ids::Ids;

/// What SES would say to a call, in memory: no socket, no record, and every sender verified.
pub fn judge(profile: Profile, call: &Call) -> Option<Refusal> {
    law::Law { profile, refused_senders: &BTreeSet::new(), region: "us-east-1" }.refusal(call)
}

/// Which SES is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Any well-formed field name; the documented sixty at most once each.
    Today,
    /// As today, and only the 35 field names of the old allow-list and `X-*`.
    Year2011,
}

/// The running fake.
pub struct FakeSes {
    endpoint: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeSes {
    /// Starts on a free port of 127.0.0.1. Connections are taken as soon as this returns.
    pub fn start(profile: Profile) -> Self {
        Self::start_on(profile, 0)
    }

    /// Starts on a given port: for an SES that was away and comes back. 0 takes a free one.
    #[allow(clippy::expect_used)] // Without its socket or thread there is no test to go on with.
    pub fn start_on(profile: Profile, port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a loopback port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let address = listener.local_addr().expect("the port's number");
        let shared = Arc::new(Shared::new(profile, address.port()));
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fake-ses".into())
            .spawn(move || http::run(listener, served, stopped))
            .expect("a thread");
        Self { endpoint: format!("http://{address}"), shared, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`. A path put behind it is tolerated in front of `/v2`.
    pub fn endpoint(&self) -> String {
        self.endpoint.clone()
    }

    /// Appends answers, one a send call in the order of arrival. A call without a good Authorization takes none.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        locked(&self.shared.plan).script.extend(answers);
    }

    /// Gives each `n`-th send call this answer, once the script is used up.
    pub fn every(&self, n: u64, answer: Answer) {
        locked(&self.shared.plan).every.push((n, answer));
    }

    /// Gives each call that the test holds for this answer, when neither script nor `every` decided.
    ///
    /// The call has been read by then, so [`Answer::CutBeforeReading`] acts as [`Answer::CutAfterReading`].
    pub fn when(&self, test: impl Fn(&Call) -> bool + Send + Sync + 'static, answer: Answer) {
        locked(&self.shared.plan).when.push((Arc::new(test), answer));
    }

    /// Forgets all that was wished for so far: calls are accepted.
    pub fn clear_plan(&self) {
        *locked(&self.shared.plan) = Plan::default();
    }

    /// The answer to all other calls; [`Answer::Accept`] at first.
    pub fn otherwise(&self, answer: Answer) {
        locked(&self.shared.plan).otherwise = answer;
    }

    /// Waits this long before every answer, GetAccount's included.
    pub fn latency(&self, latency: Duration) {
        locked(&self.shared.setup).latency = latency;
    }

    /// Lets all calls that hang now go on as if they had been [`Answer::Accept`].
    pub fn release(&self) {
        self.shared.release.send_replace(());
    }

    /// The sender identities that are not verified, compared without case. Replaces the earlier set.
    pub fn refuse_senders<S: Into<String>>(&self, addresses: impl IntoIterator<Item = S>) {
        let lower = |address: S| address.into().to_ascii_lowercase();
        let senders: BTreeSet<String> = addresses.into_iter().map(lower).collect();
        locked(&self.shared.setup).refused_senders = Arc::new(senders);
    }

    /// What GetAccount says.
    pub fn set_account(&self, account: Account) {
        locked(&self.shared.setup).account = account;
    }

    /// What GetAccount says besides the quota.
    pub fn set_standing(&self, standing: Standing) {
        locked(&self.shared.setup).standing = standing;
    }

    /// The identities that there are, and how many a page of their list holds at most.
    pub fn set_identities(&self, identities: impl IntoIterator<Item = Identity>, page: usize) {
        let mut setup = locked(&self.shared.setup);
        setup.identities = identities.into_iter().collect();
        setup.page = page;
    }

    /// Whether GetAccount is answered with 403.
    pub fn deny_account(&self, deny: bool) {
        self.deny(if deny { &["ses:GetAccount"] } else { &[] });
    }

    /// The looks that IAM does not allow. Replaces the earlier set.
    pub fn deny(&self, actions: &[&'static str]) {
        locked(&self.shared.setup).denied = actions.iter().copied().collect();
    }

    /// Answers every look with this error, until it is told otherwise.
    pub fn fail_looks(&self, error: Option<(u16, &'static str, &'static str)>) {
        locked(&self.shared.setup).look_error = error;
    }

    /// How many seconds the Date of its looks is ahead.
    pub fn set_clock_ahead(&self, seconds: i64) {
        locked(&self.shared.setup).clock_ahead = seconds;
    }

    /// Whether recorded calls keep their message; without, a long load run stays small.
    pub fn keep_bodies(&self, keep: bool) {
        locked(&self.shared.setup).keep_bodies = keep;
    }

    /// Every send call whose request was read, in the order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.book.calls(|_| true)
    }

    /// Those that SES accepted, whether or not the client was told.
    pub fn accepted(&self) -> Vec<Call> {
        self.shared.book.calls(Call::is_accepted)
    }

    /// The numbers alone, without copying the record.
    pub fn counts(&self) -> Counts {
        self.shared.book.counts()
    }

    /// Waits until `n` calls are in the record; false when the time is over first.
    pub fn wait_for_calls(&self, n: u64, timeout: Duration) -> bool {
        self.wait_until(timeout, |counts| counts.received >= n)
    }

    /// Waits until `n` calls are accepted; false when the time is over first.
    pub fn wait_for_accepted(&self, n: u64, timeout: Duration) -> bool {
        self.wait_until(timeout, |counts| counts.accepted >= n)
    }

    /// Waits until the condition holds for the counts; false when the time is over first.
    pub fn wait_until(&self, timeout: Duration, holds: impl Fn(&Counts) -> bool) -> bool {
        self.shared.book.wait_until(timeout, holds)
    }
}

impl Drop for FakeSes {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has printed itself; a second one in drop would hide it.
            let _ = thread.join();
        }
    }
}

/// What the test's side and the serving thread have in common.
struct Shared {
    profile: Profile,
    plan: Mutex<Plan>,
    setup: Mutex<Setup>,
    book: Book,
    ids: Ids,
    release: watch::Sender<()>,
}

impl Shared {
    fn new(profile: Profile, port: u16) -> Self {
        Self {
            profile,
            plan: Mutex::default(),
            setup: Mutex::default(),
            book: Book::default(),
            ids: Ids::new(port),
            release: watch::Sender::new(()),
        }
    }
}

/// The wishes that do not depend on the call.
#[derive(Clone)]
struct Setup {
    account: Account,
    standing: Standing,
    identities: Vec<Identity>,
    page: usize,
    denied: BTreeSet<&'static str>,
    look_error: Option<(u16, &'static str, &'static str)>,
    clock_ahead: i64,
    latency: Duration,
    refused_senders: Arc<BTreeSet<String>>,
    keep_bodies: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            account: Account::default(),
            standing: Standing::default(),
            identities: Vec::new(),
            page: 100,
            denied: BTreeSet::new(),
            look_error: None,
            clock_ahead: 0,
            latency: Duration::ZERO,
            refused_senders: Arc::default(),
            keep_bodies: true,
        }
    }
}

/// A lock that a panicking test left behind still guards whole values.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
