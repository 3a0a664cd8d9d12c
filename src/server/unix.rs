//! Unix sockets as files: made, replaced when nobody answers there any longer, and never taken from somebody who does.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::UnixStream as BlockingStream,
    },
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The system's `sun_path` has no room for it.
    #[error(
        "the path {} has {} octets, and a Unix socket's has at most 107; choose a shorter one",
        .0.display(),
        .0.as_os_str().len()
    )]
    Long(PathBuf),
    /// Another process answers there.
    #[error("another process answers at {}", .0.display())]
    InUse(PathBuf),
    /// There is something else.
    #[error("{} is there and is no socket", .0.display())]
    Occupied(PathBuf),
    /// It cannot be made.
    #[error("{}: {cause}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// Binds a socket file, with these permissions. One that a process left behind and nobody answers at is replaced.
///
/// # Errors
/// Why there is none.
pub fn bind(path: &Path, mode: u32) -> Result<UnixListener, SocketError> {
    let system = |cause| SocketError::System { path: path.to_owned(), cause };
    let bound = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            clear(path)?;
            UnixListener::bind(path)
        }
        other => other,
    };
    let listener = bound.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => SocketError::Long(path.to_owned()),
        _ => system(error),
    })?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(system)?;
    Ok(listener)
}

/// Removes the socket of a process that is gone.
fn clear(path: &Path) -> Result<(), SocketError> {
    let system = |cause| SocketError::System { path: path.to_owned(), cause };
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => return Err(SocketError::Occupied(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(system(error)),
    }
    match BlockingStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(system),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(SocketError::InUse(path.to_owned())),
    }
}
