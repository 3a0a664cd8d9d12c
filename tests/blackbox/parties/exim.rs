//! A private Exim: settings, queue and log of its own. All mail takes one way, to a port or through a command.
//!
//! It is the program of an unpacked package: its user is one that only its own /etc knows, and its settings lie where that
//! program wants them. Mail that is put off waits for [`MailServer::run_queue`].

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Output, Stdio};

use tempfile::TempDir;

use super::apart::{Apart, unpacked};
use super::{Guard, MailServer, PATIENCE, fed, free_port, greets, wait_until};

/// The user that the program was built for, and a number that no system gives by itself.
const USER: &str = "Debian-exim";
const USER_ID: u32 = 64_990;

/// A running Exim; ended when dropped.
pub struct Exim {
    // The first to go: its processes write into the folder.
    daemon: Option<Guard>,
    apart: Apart,
    folder: TempDir,
    program: PathBuf,
    port: u16,
}

impl Exim {
    /// Starts one that relays everything to 127.0.0.1:`port`; returns when it greets clients.
    ///
    /// # Panics
    /// When not root, when Exim is not unpacked, or when it does not come up.
    pub fn to_smarthost(port: u16) -> Self {
        let router = "driver = manualroute\nroute_list = * 127.0.0.1\nself = send";
        Self::start(router, &format!("driver = smtp\nallow_localhost\nport = {port}"))
    }

    /// The same, with a transport that runs a command: its lines behind `driver = pipe`.
    pub fn to_pipe(transport: &str) -> Self {
        Self::start("driver = accept", &format!("driver = pipe\n{transport}"))
    }

    fn start(router: &str, transport: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("headgate-exim-").tempdir_in("/tmp").expect("/tmp is writable");
        let apart = Apart::new(folder.path().join("over"), "app4.example.com");
        let program = unpacked("exim/usr/sbin/exim4");
        let mut exim = Self { daemon: None, apart, folder, program, port: free_port() };
        exim.lay_out(router, transport).unwrap_or_else(|error| panic!("the folder of Exim cannot be made: {error}"));
        let mut daemon = exim.apart.daemon(&exim.program);
        daemon.arg("-bdf").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        exim.daemon = Some(Guard::spawn(&mut daemon));
        assert!(wait_until(PATIENCE, || greets(exim.port)), "Exim does not start: {}", exim.log());
        exim
    }

    fn lay_out(&self, router: &str, transport: &str) -> std::io::Result<()> {
        let folder = self.folder.path();
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        for part in ["spool", "log"] {
            fs::create_dir(folder.join(part))?;
            chown(folder.join(part), Some(USER_ID), Some(USER_ID))?;
        }
        let etc = self.apart.folder("etc")?;
        let with = |file: &str, line: &str| -> std::io::Result<()> {
            let entries = fs::read_to_string(format!("/etc/{file}"))?;
            fs::write(etc.join(file), format!("{}\n{USER}:x:{USER_ID}:{line}\n", entries.trim_end()))
        };
        with("passwd", &format!("{USER_ID}::/nonexistent:/usr/sbin/nologin"))?;
        with("group", "")?;
        fs::create_dir(etc.join("exim4"))?;
        fs::write(etc.join("exim4/exim4.conf"), self.settings(router, transport))
    }

    /// Nothing is looked up in the DNS, and each host may be tried again at once.
    fn settings(&self, router: &str, transport: &str) -> String {
        let (program, folder, port) = (self.program.display(), self.folder.path().display(), self.port);
        format!(
            "exim_path = {program}
spool_directory = {folder}/spool
log_file_path = {folder}/log/%slog
pid_file_path = {folder}/log/exim.pid
primary_hostname = app4.example.com
qualify_domain = example.com
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port}
disable_ipv6
keep_environment =
tls_advertise_hosts =
rfc1413_query_timeout = 0s
acl_smtp_rcpt = accept
acl_smtp_data = accept
begin routers
all:
{router}
transport = out
begin transports
out:
{transport}
begin retry
* * F,4d,1s
"
        )
    }
}

impl MailServer for Exim {
    fn port(&self) -> u16 {
        self.port
    }

    fn inject(&self, arguments: &[&str], message: &[u8]) -> Output {
        let mut command = self.apart.command(&self.program);
        // In the foreground: when the command has ended, so has the first attempt.
        fed(command.arg("-odi").args(arguments), message)
    }

    fn run_queue(&self) {
        fed(self.apart.command(&self.program).arg("-qff"), b"");
    }

    /// Of lines such as `          b@example.net`, with a `D` before those who have it.
    fn waiting(&self) -> Vec<String> {
        let output = fed(self.apart.command(&self.program).arg("-bp"), b"");
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().filter_map(|line| line.strip_prefix("          ")).map(str::to_owned).collect()
    }

    fn log(&self) -> String {
        let part = |name: &str| fs::read_to_string(self.folder.path().join("log").join(name)).unwrap_or_default();
        ["mainlog", "rejectlog", "paniclog"].map(part).concat()
    }
}
