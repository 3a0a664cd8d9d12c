//! Listening sockets of every kind: bound here, or passed by systemd.

use std::{
    env, io,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use listenfd::ListenFd;
use tokio::net::{TcpListener, UnixListener};

use super::{
    Settings,
    place::Place,
    unix::{self, SocketError},
    wire::Wire,
};

/// Clients of a Unix socket are on this machine, and count as this.
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A listening socket.
pub(super) enum Socket {
    Tcp(TcpListener),
    Unix { socket: UnixListener, _made: Option<Made> },
}

/// The file of a socket that we made; it goes with the socket.
pub(super) struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A listener's place that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// An address: in use, not ours, or not permitted.
    #[error("listener {name}: cannot listen on {address}: {cause}")]
    Address {
        /// The listener's name.
        name: String,
        /// Where it should be.
        address: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A Unix socket.
    #[error("listener {name}: {cause}")]
    Unix {
        /// The listener's name.
        name: String,
        /// Why there is none.
        cause: SocketError,
    },
    /// Systemd passed no such socket.
    #[error(
        "listener {name}: systemd passed no socket named {wanted:?}{passed}; its unit of type .socket names it by FileDescriptorName={wanted}"
    )]
    NotPassed {
        /// The listener's name.
        name: String,
        /// The name of the socket.
        wanted: String,
        /// What it passed.
        passed: String,
    },
}

/// The sockets that systemd passed (sd_listen_fds(3)), each with its name; a name may stand for several.
pub struct Passed {
    names: Vec<String>,
    sockets: ListenFd,
}

impl Passed {
    /// Takes what the environment tells of; nothing when it is meant for another process.
    pub fn from_env() -> Self {
        let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
        let sockets = ListenFd::from_env();
        let mut names: Vec<String> = names.split(':').map(str::to_owned).collect();
        names.resize(sockets.len(), "unknown".to_owned());
        Self { names, sockets }
    }

    fn take(&mut self, name: &str) -> io::Result<Vec<Socket>> {
        let mut taken = Vec::new();
        for (index, _) in self.names.iter().enumerate().filter(|(_, passed)| *passed == name) {
            taken.extend(match self.sockets.take_tcp_listener(index) {
                Ok(socket) => socket.map(tcp).transpose()?,
                Err(_) => self.sockets.take_unix_listener(index)?.map(local).transpose()?,
            });
        }
        Ok(taken)
    }

    fn tell(&self) -> String {
        if self.names.is_empty() { String::new() } else { format!(" (but {})", self.names.join(", ")) }
    }
}

fn tcp(socket: std::net::TcpListener) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket).map(Socket::Tcp)
}

fn local(socket: std::os::unix::net::UnixListener) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    UnixListener::from_std(socket).map(|socket| Socket::Unix { socket, _made: None })
}

/// The sockets of a listener: one, but for those that systemd passes.
pub(super) async fn open(settings: &Settings, passed: &mut Passed) -> Result<Vec<Socket>, BindError> {
    let name = || settings.name.clone();
    let fault = |cause| BindError::Address { name: name(), address: settings.address.clone(), cause };
    match settings.place() {
        Some(Place::Unix(path)) => {
            let bound = unix::bind(&path, settings.socket_mode.0);
            let socket = bound.map_err(|cause| BindError::Unix { name: name(), cause })?;
            Ok(vec![Socket::Unix { socket, _made: Some(Made(path)) }])
        }
        Some(Place::Systemd(wanted)) => {
            let sockets = passed.take(&wanted).map_err(fault)?;
            if sockets.is_empty() {
                return Err(BindError::NotPassed { name: name(), wanted, passed: passed.tell() });
            }
            Ok(sockets)
        }
        _ => Ok(vec![Socket::Tcp(TcpListener::bind(&settings.address).await.map_err(fault)?)]),
    }
}

impl Socket {
    /// The next client and its address.
    pub(super) async fn accept(&self) -> io::Result<(Wire, IpAddr)> {
        match self {
            Self::Tcp(socket) => {
                let (stream, peer) = socket.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok((Box::new(stream), peer.ip().to_canonical()))
            }
            Self::Unix { socket, .. } => Ok((Box::new(socket.accept().await?.0), LOCAL)),
        }
    }

    /// Where it listens, as the log shows it.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Tcp(socket) => socket.local_addr().map(|address| address.to_string()).unwrap_or_default(),
            Self::Unix { socket, .. } => {
                let address = socket.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                format!("unix:{}", path.map(|path| path.display().to_string()).unwrap_or_default())
            }
        }
    }
}
