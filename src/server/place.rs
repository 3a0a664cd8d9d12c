//! Where a listener is: the forms of its `address`.

use std::{net::SocketAddr, path::PathBuf};

/// A place to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket that is made there.
    Unix(PathBuf),
    /// A socket that systemd passes under this name.
    Systemd(String),
}

/// What stands before the path of a Unix socket.
pub const UNIX: &str = "unix:";
/// What stands before the name of a socket from systemd.
const SYSTEMD: &str = "systemd:";

impl Place {
    /// Reads `127.0.0.1:2525`, `unix:/run/smtp.sock` or `systemd:smtp`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return Some(Self::Unix(path.into())).filter(|_| !path.is_empty());
        }
        if let Some(name) = text.strip_prefix(SYSTEMD) {
            // What systemd takes for a name (sd_listen_fds_with_names(3)).
            let legal = |one: char| one.is_ascii_graphic() && one != ':';
            return Some(Self::Systemd(name.to_owned())).filter(|_| !name.is_empty() && name.chars().all(legal));
        }
        text.parse().ok().map(Self::Tcp)
    }

    /// Whether only this machine reaches it; what systemd passes may be anything.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
            Self::Systemd(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms() {
        assert_eq!(Place::parse("[::1]:25"), Some(Place::Tcp("[::1]:25".parse().unwrap())));
        assert_eq!(Place::parse("unix:/run/x.sock"), Some(Place::Unix("/run/x.sock".into())));
        assert_eq!(Place::parse("systemd:smtp"), Some(Place::Systemd("smtp".to_owned())));
        for wrong in ["", "localhost:25", "127.0.0.1", "unix:", "systemd:", "systemd:a b", "systemd:a:b", "/run/x.sock"]
        {
            assert_eq!(Place::parse(wrong), None, "{wrong}");
        }
    }
}
