//! Postfix's own smtp-sink: a server that takes every mail and keeps it in a file. It proves the other parties without
//! the gateway, and stands for a next hop.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Guard, PATIENCE, free_port, wait_for_port};

/// A running sink; its process ends when it is dropped.
pub struct Sink {
    server: Guard,
    folder: TempDir,
    port: u16,
}

impl Sink {
    /// Starts one; returns when it takes connections.
    ///
    /// # Panics
    /// When not root, when Postfix is not installed, or when it does not come up.
    pub fn start() -> Sink {
        Sink::start_on(free_port())
    }

    /// The same on a port that the other side has been told already.
    pub fn start_on(port: u16) -> Sink {
        let folder = tempfile::Builder::new().prefix("headgate-sink-").tempdir().expect("/tmp is writable");
        // The sink gives up root before it writes.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("one's own folder can be opened");
        let mut command = Command::new("/usr/sbin/smtp-sink");
        command.args(["-u", "nobody", "-d", "mail."]).arg(format!("127.0.0.1:{port}")).arg("100");
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Guard::spawn(&mut command);
        assert!(wait_for_port(port, PATIENCE), "smtp-sink does not start; it needs root");
        Sink { server, folder, port }
    }

    /// The port of 127.0.0.1 where it takes mail.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The mails that it took, in no order, with LF line ends. Lines that it puts on top tell client and envelope,
    /// such as `X-Mail-Args: <a@example.com>` and one `X-Rcpt-Args` a recipient.
    pub fn mails(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).expect("one's own folder can be read");
        files
            .map(|file| {
                let octets = fs::read(file.expect("one's own folder can be read").path()).expect("the mail is a file");
                String::from_utf8_lossy(&octets).into_owned()
            })
            .collect()
    }
}
