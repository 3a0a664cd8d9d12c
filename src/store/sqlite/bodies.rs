//! Bodies that are too large for a row: a file each, durable before the row that names it.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;

use crate::{mail::Id, store::StoreError};

use super::{OWNER, fault::file_fault};

/// Octets of a body that still go into a row.
pub(super) const SMALL: usize = 256 << 10;

/// The folder of these files.
#[derive(Debug)]
pub(super) struct Bodies {
    folder: PathBuf,
    octets: AtomicU64,
}

impl Bodies {
    /// The folder beside a database; made if it is not there.
    pub(super) fn open(database: &Path) -> Result<Self, StoreError> {
        let mut name = database.as_os_str().to_owned();
        name.push(".bodies");
        let folder = PathBuf::from(name);
        let what = |error: &io::Error| file_fault(&folder.display().to_string(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| what(&error))?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(parent).map_err(|error| what(&error))?;
        Ok(Self { folder, octets: AtomicU64::new(0) })
    }

    /// Octets that the files take.
    pub(super) fn octets(&self) -> u64 {
        self.octets.load(Ordering::Relaxed)
    }

    fn path(&self, id: Id) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Writes a body so that neither the file nor its name can be lost any more.
    pub(super) fn write(&self, id: Id, octets: &[u8]) -> Result<(), StoreError> {
        let (path, new) = (self.path(id), self.folder.join(format!("{id}.new")));
        let made = File::options().write(true).create(true).truncate(true).mode(OWNER).open(&new);
        let written = made.and_then(|mut file| {
            file.write_all(octets)?;
            file.sync_data()?;
            fs::rename(&new, &path)?;
            sync_folder(&self.folder)
        });
        match written {
            Ok(()) => {
                self.octets.fetch_add(octets.len() as u64, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&new);
                let _ = fs::remove_file(&path);
                Err(file_fault(&path.display().to_string(), &error))
            }
        }
    }

    /// The octets of a body.
    pub(super) fn read(&self, id: Id) -> Result<Bytes, StoreError> {
        let path = self.path(id);
        let octets = fs::read(&path).map_err(|error| file_fault(&path.display().to_string(), &error))?;
        Ok(Bytes::from(octets))
    }

    /// Removes the file of a body that is not needed any more. One that stays is removed at the next start.
    pub(super) fn remove(&self, id: Id) {
        let path = self.path(id);
        let octets = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        match fs::remove_file(&path) {
            Ok(()) => {
                let less = |held: u64| Some(held.saturating_sub(octets));
                let _ = self.octets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
            Err(error) => tracing::warn!(path = %path.display(), %error, "a body cannot be removed"),
        }
    }

    /// Removes the files that no row names, and counts the others.
    pub(super) fn clean(&self, is_named: impl Fn(Id) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        let what = |error: &io::Error| file_fault(&self.folder.display().to_string(), error);
        let mut kept = 0;
        for entry in fs::read_dir(&self.folder).map_err(|error| what(&error))? {
            let entry = entry.map_err(|error| what(&error))?;
            let id = entry.file_name().to_str().and_then(|name| name.parse::<Id>().ok());
            let named = id.map(&is_named).transpose()?.unwrap_or(false);
            let ours = id.is_some() || entry.path().extension().is_some_and(|kind| kind == "new");
            if named {
                kept += entry.metadata().map_or(0, |metadata| metadata.len());
            } else if ours {
                fs::remove_file(entry.path()).map_err(|error| what(&error))?;
            }
        }
        self.octets.store(kept, Ordering::Relaxed);
        Ok(())
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
