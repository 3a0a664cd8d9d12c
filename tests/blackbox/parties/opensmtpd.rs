//! A private OpenSMTPD that relays everything within TLS and behind a login: settings, queue and log of its own.
//!
//! It is the program of an unpacked package, in a place where its users exist and its paths lead into a folder of the
//! test. It trusts one authority in the place of the system's.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use super::apart::{Apart, unpacked};
use super::secured::{Login, Secured};
use super::{Guard, PATIENCE, free_port, greets, wait_until};

/// Its users, with numbers that no system gives by itself.
const USERS: [(&str, u32); 2] = [("opensmtpd", 64_991), ("opensmtpq", 64_992)];

/// A running OpenSMTPD; ended when dropped.
pub struct OpenSmtpd {
    // The first to go: its processes write into the folder.
    daemon: Option<Guard>,
    folder: TempDir,
    port: u16,
}

impl OpenSmtpd {
    /// Starts one that relays everything to a server; returns when it greets clients.
    ///
    /// # Panics
    /// When not root, when OpenSMTPD is not unpacked, or when it does not come up.
    pub fn to_smarthost_within_tls(server: &Secured<'_>) -> Self {
        let folder =
            tempfile::Builder::new().prefix("headgate-opensmtpd-").tempdir_in("/tmp").expect("/tmp is writable");
        let apart = Apart::new(folder.path().join("over"), "app5.example.com");
        let mut opensmtpd = Self { daemon: None, folder, port: free_port() };
        opensmtpd.lay_out(&apart, server).unwrap_or_else(|error| panic!("the folder of OpenSMTPD: {error}"));
        let log = File::create(opensmtpd.folder.path().join("log")).expect("the new folder is writable");
        let mut daemon = apart.daemon(&unpacked("opensmtpd/usr/sbin/smtpd"));
        daemon.arg("-d").arg("-f").arg(opensmtpd.folder.path().join("smtpd.conf"));
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        opensmtpd.daemon = Some(Guard::spawn(&mut daemon));
        let ready = wait_until(PATIENCE, || greets(opensmtpd.port));
        assert!(ready, "OpenSMTPD does not start: {}", opensmtpd.log());
        opensmtpd
    }

    /// The port of 127.0.0.1 where it takes mail by SMTP.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Its paths are built in: what they lead to lies in the folder, since the place itself cannot be written to.
    fn lay_out(&self, apart: &Apart, server: &Secured<'_>) -> io::Result<()> {
        let folder = self.folder.path();
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        for (part, mode) in [("run", 0o755), ("spool", 0o711)] {
            fs::create_dir(folder.join(part))?;
            fs::set_permissions(folder.join(part), Permissions::from_mode(mode))?;
        }
        let var = apart.folder("var")?;
        fs::create_dir_all(var.join("spool"))?;
        symlink(folder.join("spool"), var.join("spool/smtpd"))?;
        symlink(folder.join("run"), var.join("run"))?;
        fs::create_dir_all(var.join("lib/opensmtpd/empty"))?;
        let libexec = apart.folder("usr")?.join("libexec");
        fs::create_dir(&libexec)?;
        copied(&unpacked("opensmtpd/usr/libexec/opensmtpd"), &libexec.join("opensmtpd"))?;
        let etc = apart.folder("etc")?;
        for (file, line) in [("passwd", ":/nonexistent:/usr/sbin/nologin"), ("group", "")] {
            let mut entries = fs::read_to_string(format!("/etc/{file}"))?;
            for (name, id) in USERS {
                let group = if file == "passwd" { format!("{id}:") } else { String::new() };
                entries += &format!("{name}:x:{id}:{group}{line}\n");
            }
            fs::write(etc.join(file), entries)?;
        }
        fs::create_dir_all(etc.join("ssl/certs"))?;
        fs::copy(server.ca_file, etc.join("ssl/certs/ca-certificates.crt"))?;
        fs::write(folder.join("smtpd.conf"), self.settings(server))?;
        fs::set_permissions(folder.join("smtpd.conf"), Permissions::from_mode(0o600))
    }

    fn settings(&self, server: &Secured<'_>) -> String {
        let scheme = if server.implicit { "smtps" } else { "smtp+tls" };
        let (label, auth, table) = match &server.login {
            Some(Login { name, password }) => {
                ("upstream@", " auth <logins>", format!("table logins {{ upstream = \"{name}:{password}\" }}\n"))
            }
            None => ("", "", String::new()),
        };
        format!(
            "{table}listen on 127.0.0.1 port {}
action \"out\" relay host \"{scheme}://{label}127.0.0.1:{}\"{auth}
match from any for any action \"out\"
",
            self.port, server.port
        )
    }
}

fn copied(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
