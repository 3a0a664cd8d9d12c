//! Room on the disk that is given up when there is no other, so that what is queued can still be delivered.
//!
//! Leasing and settling write a little before mail goes away and makes room. On a disk that is full to the last octet
//! they could not, and nothing would ever go. So a file of its own holds some room: it is removed when a lease or a
//! settlement finds none, and no new mail is taken until the file is back.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Octets of the file.
const OCTETS: usize = 2 << 20;
/// How often it is tried to get the room back.
const PAUSE: Duration = Duration::from_secs(1);

/// The file.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    held: bool,
    tried: Option<Instant>,
}

impl Reserve {
    /// Beside a database. Where there is no room for it now, new mail waits until there is.
    pub(super) fn beside(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push(".reserve");
        let mut reserve = Self { path: PathBuf::from(name), held: false, tried: None };
        reserve.held = fs::metadata(&reserve.path).is_ok_and(|found| found.len() == OCTETS as u64);
        reserve
    }

    /// Whether the room is there; tries to get it back when it is not, once in a while.
    pub(super) fn is_held(&mut self) -> bool {
        let lately = self.tried.is_some_and(|tried| tried.elapsed() < PAUSE);
        if !self.held && !lately {
            self.tried = Some(Instant::now());
            self.held = self.fill().is_ok();
            if !self.held {
                let _ = fs::remove_file(&self.path);
            }
        }
        self.held
    }

    /// Gives the room up; whether there was any.
    pub(super) fn release(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        self.tried = Some(Instant::now());
        if held {
            tracing::error!(path = %self.path.display(), "the disk is full; no mail is taken until there is room again");
        }
        fs::remove_file(&self.path).is_ok() && held
    }

    /// Octets that no file system can make smaller.
    fn fill(&self) -> io::Result<()> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut octets = Vec::with_capacity(OCTETS);
        while octets.len() < OCTETS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            octets.extend_from_slice(&state.to_le_bytes());
        }
        let mut file = File::create(&self.path)?;
        file.write_all(&octets)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_held_given_up_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("queue.db");
        let mut reserve = Reserve::beside(&database);
        assert!(reserve.is_held() && Reserve::beside(&database).held);
        assert!(reserve.release() && !reserve.release());
        assert!(!reserve.is_held(), "not at once: the disk is as full as before");
        reserve.tried = None;
        assert!(reserve.is_held());
    }
}
