//! The one thread that writes: it commits all waiting work in one transaction.
//!
//! While a commit syncs, the next jobs gather; so the number of syncs falls as the load rises. A job that fails undoes
//! what it did itself and fails alone. When SQLite gives up the whole transaction (a full disk), none of the group has
//! changed anything; then what takes mail out of the queue is done with the room that is held in reserve, and new mail is
//! refused until that room is there again.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::store::StoreError;

use super::reserve::Reserve;

/// Jobs of one transaction at most.
const JOBS: usize = 1024;
/// Octets of bodies in one transaction at most.
const OCTETS: usize = 24 << 20;
/// Jobs that may wait; whoever comes later waits for a place.
const WAITING: usize = 4096;

/// Something to do in a transaction, perhaps more than once.
trait Work: Send {
    /// Does it. When it fails its changes are undone.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;
    /// Tells the caller, who gets the result of the last run when the transaction was committed.
    fn end(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Piece<T, F> {
    work: F,
    result: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Connection) -> Result<T, StoreError> + Send> Work for Piece<T, F> {
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let result = (self.work)(connection);
        let done = result.as_ref().map(|_| ()).map_err(StoreError::clone);
        self.result = Some(result);
        done
    }

    fn end(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = self.result.unwrap_or_else(|| Err(closed()));
        let _ = self.caller.send(committed.and(result));
    }
}

/// What a job does to the room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It takes that many octets of it.
    Takes(usize),
    /// It brings mail out of the queue, and room with it.
    Makes,
}

struct Job {
    room: Room,
    work: Box<dyn Work>,
}

/// What the thread tells those who ask.
#[derive(Debug, Default)]
struct Gauges {
    used: AtomicU64,
    closed: AtomicBool,
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    gauges: Arc<Gauges>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let gauges = Arc::new(Gauges::default());
        let mut desk = Desk { connection, reserve: Reserve::beside(path), gauges: Arc::clone(&gauges) };
        desk.reserve.is_held();
        desk.measure();
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || desk.work(receiver));
        let thread = thread.map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
        Ok(Self { jobs: Some(sender), gauges, thread: Some(thread) })
    }

    /// Octets of the database that are in use.
    pub(super) fn used(&self) -> u64 {
        self.gauges.used.load(Ordering::Relaxed)
    }

    /// Whether the disk is so full that nothing new is taken.
    pub(super) fn is_closed(&self) -> bool {
        self.gauges.closed.load(Ordering::Relaxed)
    }

    /// Does that in the next transaction and gives its result once that is durable.
    pub(super) async fn submit<T, F>(&self, room: Room, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let work = Box::new(Piece { work, result: None, caller });
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(Job { room, work }).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
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

/// What the thread works with.
struct Desk {
    connection: Connection,
    reserve: Reserve,
    gauges: Arc<Gauges>,
}

impl Desk {
    fn work(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(first) = jobs.blocking_recv() {
            let mut octets = first.room.octets();
            let mut group = vec![first];
            while group.len() < JOBS && octets < OCTETS {
                let Ok(job) = jobs.try_recv() else { break };
                octets += job.room.octets();
                group.push(job);
            }
            self.serve(group);
            self.measure();
        }
    }

    fn serve(&mut self, group: Vec<Job>) {
        let is_closed = !self.reserve.is_held();
        let (mut group, refused): (Vec<Job>, Vec<Job>) =
            group.into_iter().partition(|job| !is_closed || job.room == Room::Makes);
        let full = || StoreError::Full("the disk has no room but the reserve".to_owned());
        refused.into_iter().for_each(|job| job.work.end(Err(full())));
        let mut committed = self.commit(&mut group);
        if matches!(committed, Err(StoreError::Full(_))) {
            let (mut making, taking): (Vec<Job>, Vec<Job>) = group.into_iter().partition(|job| job.room == Room::Makes);
            taking.into_iter().for_each(|job| job.work.end(committed.clone()));
            if !making.is_empty() {
                self.reserve.release();
                self.shrink();
                committed = self.commit(&mut making);
            }
            group = making;
        }
        if is_closed {
            self.shrink();
        }
        group.into_iter().for_each(|job| job.work.end(committed.clone()));
    }

    /// One transaction of many jobs.
    fn commit(&self, group: &mut [Job]) -> Result<(), StoreError> {
        if group.is_empty() {
            return Ok(());
        }
        let done = self.run("BEGIN IMMEDIATE").and_then(|()| group.iter_mut().try_for_each(|job| self.step(job)));
        let committed = done.and_then(|()| self.run("COMMIT"));
        if committed.is_err() && !self.connection.is_autocommit() {
            let _ = self.run("ROLLBACK");
        }
        committed
    }

    fn step(&self, job: &mut Job) -> Result<(), StoreError> {
        self.run("SAVEPOINT job")?;
        match job.work.run(&self.connection) {
            // What finds no room leaves none for the others either.
            Err(StoreError::Full(cause)) => return Err(StoreError::Full(cause)),
            Err(error) if self.connection.is_autocommit() => return Err(error),
            Err(_) => self.run("ROLLBACK TO job")?,
            Ok(()) => {}
        }
        self.run("RELEASE job")
    }

    fn run(&self, statement: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }

    /// Brings the write-ahead log into the database and cuts its file off: one that only began anew would keep the room
    /// it ever had, and the reserve might never find its own again.
    fn shrink(&self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// Tells how much is in use, and whether there is room.
    fn measure(&mut self) {
        let pragma = |name: &str| -> Result<i64, StoreError> {
            Ok(self.connection.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))?)
        };
        let octets = || Ok((pragma("page_count")? - pragma("freelist_count")?).saturating_mul(pragma("page_size")?));
        let octets: Result<i64, StoreError> = octets();
        if let Some(octets) = octets.ok().and_then(|octets| u64::try_from(octets).ok()) {
            self.gauges.used.store(octets, Ordering::Relaxed);
        }
        self.gauges.closed.store(!self.reserve.is_held(), Ordering::Relaxed);
    }
}

impl Room {
    fn octets(self) -> usize {
        match self {
            Self::Takes(octets) => octets,
            Self::Makes => 0,
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}
