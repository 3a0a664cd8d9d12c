//! The embedded store: SQLite in WAL mode, `synchronous=FULL`, one writing thread, bodies over 256 KiB in files.
//!
//! A lock on a file beside the database keeps other processes out, so that every lease found at the start is one whose
//! holder is gone.

mod bodies;
mod fault;
mod lease;
mod probe;
mod put;
mod read;
mod reserve;
mod row;
mod schema;
mod settle;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    fs::{File, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::mail::{Id, Message, Size, Soon};

pub use probe::{Probe, probe};

use self::{
    bodies::{Bodies, SMALL, sync_folder},
    fault::file_fault,
    settle::Leftover,
    writer::{Room, Writer},
};
use super::{Account, Ask, Counts, Entry, Filter, Lease, Order, Ordered, Settlement, Store, StoreError, Summary};

/// The mode of a new file that holds mail: the gateway's user alone. One that is there keeps its own.
const OWNER: u32 = 0o600;
/// Connections that read at once.
const READERS: usize = 4;
/// Pages of the write-ahead log before it is copied into the database.
const CHECKPOINT: usize = 4000;
/// Finished messages that one call removes.
const SWEPT: i64 = 500;

/// The store in a file.
#[derive(Debug)]
pub struct Sqlite {
    writer: Writer,
    readers: Arc<Readers>,
    bodies: Arc<Bodies>,
    size: u64,
    _lock: File,
}

#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: tokio::sync::Semaphore,
}

impl Sqlite {
    /// Opens the file, makes it if it is not there, and brings it to this version's layout. Messages whose lease was
    /// lost are queued again, due now.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Newer`], or why it cannot be used.
    pub fn open(path: &Path, size: Size, now: Timestamp) -> Result<Self, StoreError> {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let lock = lock(path)?;
        let mut connection = connect(path, true)?;
        schema::bring_up(&mut connection, &path.display().to_string())?;
        sync_folder(folder).map_err(|error| file_fault(&folder.display().to_string(), &error))?;
        let bodies = Arc::new(Bodies::open(path)?);
        let transaction = connection.transaction()?;
        let lost = lease::recover(&transaction, Timestamp::MAX, now)?;
        transaction.commit()?;
        if lost > 0 {
            tracing::warn!(messages = lost, "attempts were under way when the program ended; they are in doubt");
        }
        bodies.clean(|id| read::names_file(&connection, id))?;
        let readers =
            Readers { path: path.to_owned(), idle: Mutex::default(), places: tokio::sync::Semaphore::new(READERS) };
        Ok(Self {
            writer: Writer::start(connection, path)?,
            readers: Arc::new(readers),
            bodies,
            size: size.0,
            _lock: lock,
        })
    }

    /// Octets that queue and history take.
    fn used(&self) -> u64 {
        self.writer.used() + self.bodies.octets()
    }

    /// Runs what may block where it may.
    async fn blocking<T: Send + 'static>(
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &Bodies) -> Result<T, StoreError> + Send + 'static,
    {
        let closed = |_| StoreError::Unavailable("the store is closed".to_owned());
        let _place = self.readers.places.acquire().await.map_err(closed)?;
        let (readers, bodies) = (Arc::clone(&self.readers), Arc::clone(&self.bodies));
        Self::blocking(move || readers.with(|connection| work(connection, &bodies))).await
    }

    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.writer.submit(Room::Makes, work).await
    }

    async fn keep(&self, entry: Entry) -> Result<(), StoreError> {
        let octets = entry.message.len() + entry.before.as_ref().map_or(0, bytes::Bytes::len);
        let used = self.used();
        if used.saturating_add(octets as u64) > self.size {
            return Err(StoreError::Full(format!("{used} octets of {} are in use", self.size)));
        }
        if self.writer.is_closed() {
            // The writer looks whether there is room again, before a body is written into the last of it.
            self.writer.submit(Room::Takes(0), |_| Ok(())).await?;
        }
        let id = entry.id;
        let in_file = entry.message.rest.len() > SMALL;
        if in_file {
            let (bodies, rest) = (Arc::clone(&self.bodies), entry.message.rest.clone());
            Self::blocking(move || bodies.write(id, &rest)).await?;
        }
        let weight = if in_file { entry.message.head.len() } else { octets };
        let kept =
            self.writer.submit(Room::Takes(weight), move |connection| put::put(connection, &entry, in_file)).await;
        if kept.is_err() && in_file && kept != Err(StoreError::Duplicate) {
            let bodies = Arc::clone(&self.bodies);
            Self::blocking(move || {
                bodies.remove(id);
                Ok(())
            })
            .await?;
        }
        kept
    }

    async fn tidy(&self, id: Id, leftover: Leftover) {
        if leftover.file {
            let bodies = Arc::clone(&self.bodies);
            let _ = tokio::task::spawn_blocking(move || bodies.remove(id)).await;
        }
    }
}

impl Readers {
    fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, false)?,
        };
        let result = work(&connection);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        result
    }
}

/// Keeps other processes out, as long as the file is open.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = File::options().create(true).truncate(false).write(true).open(&name);
    let file = file.map_err(|error| file_fault(&name.display().to_string(), &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(path.display().to_string())),
        Err(TryLockError::Error(error)) => Err(file_fault(&name.display().to_string(), &error)),
    }
}

fn connect(path: &Path, writing: bool) -> Result<Connection, StoreError> {
    if writing {
        // Mail is not for everybody on the machine. SQLite gives its log the same mode, and tells why there is no file.
        let _ = File::options().create(true).truncate(false).write(true).mode(OWNER).open(path);
    }
    let access = if writing {
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
    } else {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    };
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    if writing {
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {CHECKPOINT};"
        ))?;
    }
    Ok(connection)
}

impl Store for Sqlite {
    fn put(&self, entry: Entry) -> Soon<'_, Result<(), StoreError>> {
        Box::pin(self.keep(entry))
    }

    fn lease(&self, ask: Ask) -> Soon<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(self.write(move |connection| lease::lease(connection, &ask)))
    }

    fn message(&self, id: Id) -> Soon<'_, Result<Option<Message>, StoreError>> {
        Box::pin(self.read(move |connection, bodies| read::message(connection, bodies, id)))
    }

    fn settle(&self, settlement: Settlement) -> Soon<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let id = settlement.id;
            let leftover = self.write(move |connection| settle::settle(connection, &settlement)).await?;
            self.tidy(id, leftover).await;
            Ok(())
        })
    }

    fn recover(&self, ended: Timestamp, now: Timestamp) -> Soon<'_, Result<usize, StoreError>> {
        Box::pin(self.write(move |connection| lease::recover(connection, ended, now)))
    }

    fn next_due(&self) -> Soon<'_, Result<Option<Timestamp>, StoreError>> {
        Box::pin(self.read(|connection, _| lease::next_due(connection)))
    }

    fn order(&self, id: Id, order: Order) -> Soon<'_, Result<Ordered, StoreError>> {
        Box::pin(async move {
            let (ordered, leftover) = self.write(move |connection| settle::order(connection, id, &order)).await?;
            self.tidy(id, leftover).await;
            Ok(ordered)
        })
    }

    fn list(&self, filter: Filter) -> Soon<'_, Result<Vec<Summary>, StoreError>> {
        Box::pin(self.read(move |connection, _| read::list(connection, &filter)))
    }

    fn show(&self, id: Id) -> Soon<'_, Result<Option<Account>, StoreError>> {
        Box::pin(self.read(move |connection, _| read::show(connection, id)))
    }

    fn counts(&self) -> Soon<'_, Result<Counts, StoreError>> {
        Box::pin(async move {
            let counts = self.read(|connection, _| read::counts(connection)).await?;
            Ok(Counts { octets: self.used(), ..counts })
        })
    }

    fn identity(&self, name: &str) -> Soon<'_, Result<Option<Timestamp>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.read(move |connection, _| read::identity(connection, &name)))
    }

    fn sweep(&self, before: Timestamp) -> Soon<'_, Result<usize, StoreError>> {
        Box::pin(self.write(move |connection| settle::sweep(connection, before, SWEPT)))
    }
}
