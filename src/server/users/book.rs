//! The users file: `name:hash` a line, `#` begins a comment.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::hash::Hash;

/// Octets of a users file at most.
const LARGEST: u64 = 16 << 20;
/// Octets of a name at most.
const LONGEST: usize = 255;

/// A users file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// It cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A line is wrong; its hash is not shown.
    #[error("{}:{line}: {text}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        text: String,
    },
}

/// The users of a file.
#[derive(Debug, Default)]
pub struct Book {
    users: BTreeMap<String, Hash>,
}

/// How a file looked when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp(SystemTime, u64, u64);

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self(metadata.modified().ok()?, metadata.len(), metadata.ino()))
    }
}

impl Book {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, BookError> {
        let file = |cause| BookError::File { path: path.to_owned(), cause };
        if fs::metadata(path).map_err(file)?.len() > LARGEST {
            return Err(file(io::Error::other(format!("it has more than {LARGEST} octets"))));
        }
        let text = fs::read_to_string(path).map_err(file)?;
        let mut book = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |text: String| BookError::Line { path: path.to_owned(), line: number + 1, text };
            let (name, hash) = line.split_once(':').ok_or_else(|| wrong("a line reads name:hash".to_owned()))?;
            check_name(name).map_err(wrong)?;
            let hash = Hash::parse(hash.trim()).map_err(wrong)?;
            if book.users.insert(name.to_owned(), hash).is_some() {
                return Err(wrong(format!("{name} stands in an earlier line already")));
            }
        }
        Ok(book)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.users.keys().map(String::as_str)
    }

    /// Whether that is the password of that user.
    pub fn fits(&self, name: &str, password: &str) -> bool {
        self.users.get(name).is_some_and(|hash| hash.fits(password))
    }

    pub(super) fn hash(&self, name: &str) -> Option<&Hash> {
        self.users.get(name)
    }

    /// A hash that costs what most here cost, for names that nobody has.
    pub(super) fn any(&self) -> Option<&Hash> {
        self.users.values().next()
    }

    /// Adds a user, or gives one another password.
    ///
    /// # Errors
    /// A name that no user can have.
    pub fn set(&mut self, name: &str, password: &str) -> Result<(), String> {
        check_name(name)?;
        if password.is_empty() {
            return Err("the password is empty".to_owned());
        }
        self.users.insert(name.to_owned(), Hash::of(password)?);
        Ok(())
    }

    /// Takes a user out; whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.users.remove(name).is_some()
    }

    /// Writes the file anew, whole or not at all; comments go. A new file can be read by its owner and group alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BookError> {
        let file = |cause| BookError::File { path: path.to_owned(), cause };
        let text: String = self.users.iter().map(|(name, hash)| format!("{name}:{}\n", hash.text())).collect();
        let mode = fs::metadata(path).map_or(0o640, |metadata| metadata.permissions().mode() & 0o777);
        let beside = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let mut target = options.write(true).create(true).truncate(true).mode(mode).open(&beside).map_err(file)?;
        let written = target.write_all(text.as_bytes()).and_then(|()| target.sync_all());
        written.and_then(|()| fs::rename(&beside, path)).map_err(file)
    }
}

/// What a login may be called: it stands in logs and rules as one word.
fn check_name(name: &str) -> Result<(), String> {
    let legal = |one: char| !one.is_control() && !one.is_whitespace() && one != ':';
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(legal) {
        return Err(format!(
            "{:?} is no name: it has 1 to {LONGEST} octets without blanks, colons and controls",
            name.chars().take(40).collect::<String>()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        let mut book = Book::default();
        book.set("alice", "s3cret").unwrap();
        book.set("bob@example.com", "x").unwrap();
        book.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        let mut read = Book::read(&path).unwrap();
        assert_eq!(read.names().collect::<Vec<_>>(), ["alice", "bob@example.com"]);
        assert!(read.fits("alice", "s3cret") && !read.fits("alice", "x") && !read.fits("carol", "x"));
        assert!(read.remove("alice") && !read.remove("alice"));
        assert!(read.set("a b", "x").is_err() && read.set("a", "").is_err());
    }

    #[test]
    fn a_wrong_line_is_named_without_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        for (text, fault) in [
            ("# a\nalice\n", ":2: a line reads name:hash"),
            ("alice:hush\n", ":1: this is no hash that is taken; known are"),
            (":$6$a$b\n", ":1: \"\" is no name"),
            ("a:$6$a$b\na:$6$a$b\n", ":2: a stands in an earlier line already"),
        ] {
            fs::write(&path, text).unwrap();
            let told = Book::read(&path).unwrap_err().to_string();
            assert!(told.contains(fault) && !told.contains("hush"), "{told}");
        }
        assert!(Book::read(&folder.path().join("none")).unwrap_err().to_string().contains("No such file"));
    }
}
