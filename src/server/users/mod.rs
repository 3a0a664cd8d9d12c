//! Who may log in: the users file, looked at again when it changes, and what wrong passwords cost.
//!
//! Hashing takes tens of milliseconds: it runs off the threads of the sessions, and a few at once only. A name that nobody
//! has costs what one costs that somebody has.

mod book;
mod hash;
mod penalty;
mod quota;

use std::{
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

use crate::mail::{Reply, Secret};

use book::Stamp;
pub use book::{Book, BookError};
use hash::Hash;
use penalty::Penalties;
use quota::Quotas;

/// `[users]`: who may log in.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A file with `name:hash` a line (argon2, bcrypt, SHA-512-crypt), read anew when it changes; `headgate users` writes it.
    pub file: PathBuf,
    /// Messages that each login may send within a minute; 0 is any number. Beyond, RCPT gets 450 4.7.1.
    pub messages_per_minute: u32,
    /// Recipients that each login may have within a day; 0 is any number. A restart begins to count anew.
    pub recipients_per_day: u32,
    /// Logins to which neither applies.
    pub unlimited: Vec<String>,
}

/// What a login came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is them.
    Right,
    /// It is not; the answer waits that long.
    Wrong(Duration),
    /// This client gets no answer for a while.
    Blocked,
}

/// The users of a gateway.
#[derive(Debug)]
pub struct Users {
    file: PathBuf,
    known: Mutex<(Option<Stamp>, Arc<Book>)>,
    turns: Arc<Semaphore>,
    penalties: Mutex<Penalties>,
    quotas: Mutex<Quotas>,
    nobody: Hash,
}

impl Users {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or a line is wrong.
    pub fn open(settings: &Settings) -> Result<Self, BookError> {
        let file = settings.file.clone();
        let stamp = Stamp::of(&file);
        let book = Arc::new(Book::read(&file)?);
        let unusable = |text| BookError::File { path: file.clone(), cause: std::io::Error::other(text) };
        let nobody = Hash::of("nobody").map_err(unusable)?;
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            file,
            known: Mutex::new((stamp, book)),
            turns: Arc::new(Semaphore::new(processors.div_ceil(2))),
            penalties: Mutex::new(Penalties::default()),
            quotas: Mutex::new(Quotas::new(settings)),
            nobody,
        })
    }

    /// The users as the file has them now; a broken file changes nothing and is told.
    fn book(&self) -> Arc<Book> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Stamp::of(&self.file);
        if now.is_some() && now != known.0 {
            match Book::read(&self.file) {
                Ok(book) => known.1 = Arc::new(book),
                Err(error) => tracing::error!("the users file is broken, the old users stay: {error}"),
            }
            known.0 = now;
        }
        Arc::clone(&known.1)
    }

    /// Counts a recipient of a login's message; the refusal when it is one too many.
    pub(super) fn charge(&self, login: &str, first: bool) -> Option<Reply> {
        let mut quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        quotas.charge(login, first, Instant::now()).err()
    }

    /// Whether that is the password of that user.
    pub(super) async fn check(&self, client: IpAddr, name: &str, password: Secret) -> Verdict {
        let penalties = || self.penalties.lock().unwrap_or_else(PoisonError::into_inner);
        if penalties().is_blocked(client, Instant::now()) {
            return Verdict::Blocked;
        }
        let book = self.book();
        let known = book.hash(name).cloned();
        let is_known = known.is_some();
        let hash = known.or_else(|| book.any().cloned()).unwrap_or_else(|| self.nobody.clone());
        let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else { return Verdict::Blocked };
        let fits = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            hash.fits(password.reveal())
        });
        if fits.await.unwrap_or(false) && is_known {
            penalties().succeeded(client);
            return Verdict::Right;
        }
        Verdict::Wrong(penalties().failed(client, Instant::now()))
    }
}
