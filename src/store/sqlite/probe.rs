//! Whether a store could be opened and written, without opening it: no lease is taken back, nothing is left or changed.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use crate::store::StoreError;

use super::{fault::file_fault, schema};

/// Octets that tell what kind of database a file is.
const HEADER: u64 = 100;

/// What is where a store is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Nothing yet, and it can be made.
    Absent,
    /// A store that can be written and that nobody uses.
    Free,
    /// A store in use.
    InUse,
}

/// Looks at the store in that file.
///
/// # Errors
/// Why it could not be used.
pub fn probe(path: &Path) -> Result<Probe, StoreError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    try_out(folder).map_err(|error| file_fault(&folder.display().to_string(), &error))?;
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(Probe::Absent),
        Err(error) => return Err(file_fault(&path.display().to_string(), &error)),
    }
    writable(path)?;
    if in_use(path)? {
        return Ok(Probe::InUse);
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER).read_to_end(&mut begin));
    read.map_err(|error| file_fault(&path.display().to_string(), &error))?;
    schema::recognize(&begin, &path.display().to_string())?;
    Ok(Probe::Free)
}

/// Writes a file in a folder and removes it again.
fn try_out(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".headgate-doctor.{}", std::process::id()));
    let written = File::create_new(&file).and_then(|mut open| {
        open.write_all(b"a try\n")?;
        open.sync_all()
    });
    let _ = fs::remove_file(&file);
    written
}

fn writable(path: &Path) -> Result<File, StoreError> {
    let opened = File::options().write(true).open(path);
    opened.map_err(|error| file_fault(&path.display().to_string(), &error))
}

/// Whether another process has the lock; without its file nobody has.
fn in_use(path: &Path) -> Result<bool, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    if !name.exists() {
        return Ok(false);
    }
    match writable(&name)?.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(file_fault(&name.display().to_string(), &error)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{mail::Size, store::Sqlite};

    #[test]
    fn a_look_tells_what_is_there_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.db");
        assert_eq!(probe(&path), Ok(Probe::Absent));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let store = Sqlite::open(&path, Size(1 << 30), Timestamp::now()).unwrap();
        assert_eq!(probe(&path), Ok(Probe::InUse));
        drop(store);
        assert_eq!(probe(&path), Ok(Probe::Free));
        assert!(Sqlite::open(&path, Size(1 << 30), Timestamp::now()).is_ok(), "the look is over");
    }

    #[test]
    fn a_store_at_rest_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.db");
        schema::bring_up(&mut super::super::connect(&path, true).unwrap(), "queue.db").unwrap();
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let (before, octets) = (names(), fs::read(&path).unwrap());
        assert_eq!(probe(&path), Ok(Probe::Free));
        assert_eq!(names(), before);
        assert!(fs::read(&path).unwrap() == octets);
    }

    #[test]
    fn what_is_no_store_of_ours_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.db");
        let nowhere = probe(&folder.path().join("no/queue.db"));
        assert!(matches!(nowhere, Err(StoreError::Unavailable(_))), "{nowhere:?}");
        fs::write(&path, [b'x'; 4096]).unwrap();
        assert!(matches!(probe(&path), Err(StoreError::Corrupt(_))));
        fs::remove_file(&path).unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE other (a); PRAGMA user_version = 1").unwrap();
        assert!(matches!(probe(&path), Err(StoreError::Corrupt(_))));
        other.execute_batch("PRAGMA user_version = 1000").unwrap();
        assert!(matches!(probe(&path), Err(StoreError::Newer { found: 1000, .. })));
    }
}
