//! The one thread that writes: it commits all waiting work in one transaction.
//!
//! While a commit syncs, the next jobs gather; so the number of syncs falls as the load rises. A job that fails undoes
//! what it did itself and fails alone. When SQLite gives up the whole transaction (a full disk), every job of the group
//! hears so and none of them has changed anything.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::store::StoreError;

/// Jobs of one transaction at most.
const JOBS: usize = 1024;
/// Octets of bodies in one transaction at most.
const OCTETS: usize = 24 << 20;
/// Jobs that may wait; whoever comes later waits for a place.
const WAITING: usize = 4096;

/// Called with the fate of the transaction.
type Finish = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// What one job does; whether it failed, so that its changes are undone.
type Work = Box<dyn FnOnce(&Connection) -> (bool, Finish) + Send>;

struct Job {
    octets: usize,
    work: Work,
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    used: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let used = Arc::new(AtomicU64::new(pages(&connection)?));
        let counting = Arc::clone(&used);
        let thread = std::thread::Builder::new().name("store".to_owned());
        let thread = thread.spawn(move || write_all(&connection, receiver, &counting));
        let thread = thread.map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
        Ok(Self { jobs: Some(sender), used, thread: Some(thread) })
    }

    /// Octets of the database that are in use.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Does that in the next transaction and gives its result once that is durable.
    pub(super) async fn submit<T, F>(&self, octets: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        let (sender, receiver) = oneshot::channel();
        let work: Work = Box::new(move |connection| {
            let result = work(connection);
            let failed = result.is_err();
            let finish: Finish = Box::new(move |committed| {
                let _ = sender.send(committed.and(result));
            });
            (failed, finish)
        });
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(Job { octets, work }).await.map_err(|_| closed())?;
        receiver.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Drop for Writer {
    /// Waits until what was submitted is committed.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(connection: &Connection, mut jobs: mpsc::Receiver<Job>, used: &AtomicU64) {
    while let Some(first) = jobs.blocking_recv() {
        let mut octets = first.octets;
        let mut group = vec![first];
        while group.len() < JOBS && octets < OCTETS {
            let Ok(job) = jobs.try_recv() else { break };
            octets += job.octets;
            group.push(job);
        }
        commit(connection, group);
        if let Ok(pages) = pages(connection) {
            used.store(pages, Ordering::Relaxed);
        }
    }
}

/// One transaction of many jobs.
fn commit(connection: &Connection, group: Vec<Job>) {
    let mut begun = run(connection, "BEGIN IMMEDIATE");
    let mut finishing: Vec<Finish> = Vec::with_capacity(group.len());
    for job in group {
        if begun.is_ok() {
            begun = run(connection, "SAVEPOINT job");
        }
        // A job runs even when nothing can be kept any more: what it holds answers its caller.
        let (failed, finish) = (job.work)(connection);
        finishing.push(finish);
        if begun.is_ok() && connection.is_autocommit() {
            begun = Err(StoreError::Full("the transaction was given up".to_owned()));
        }
        if begun.is_ok() && failed {
            begun = run(connection, "ROLLBACK TO job");
        }
        if begun.is_ok() {
            begun = run(connection, "RELEASE job");
        }
    }
    let committed = begun.and_then(|()| run(connection, "COMMIT"));
    if committed.is_err() && !connection.is_autocommit() {
        let _ = run(connection, "ROLLBACK");
    }
    for finish in finishing {
        finish(committed.clone());
    }
}

fn run(connection: &Connection, statement: &str) -> Result<(), StoreError> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}

/// Octets of the pages that hold something.
fn pages(connection: &Connection) -> Result<u64, StoreError> {
    let pragma = |name: &str| -> Result<i64, StoreError> {
        Ok(connection.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))?)
    };
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(u64::try_from(pages.saturating_mul(pragma("page_size")?)).unwrap_or(0))
}
