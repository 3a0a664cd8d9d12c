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
use super::secured::{Login, Secured};
use super::{Guard, MailServer, PATIENCE, fed, free_port, greets, wait_until};

/// The user that the program was built for, and a number that no system gives by itself.
const USER: &str = "Debian-exim";
const USER_ID: u32 = 64_990;

/// The router that knows one host.
const TO_HOST: &str = "driver = manualroute\nroute_list = * 127.0.0.1\nself = send";

/// The way that all mail takes, in the words of Exim's settings, where `{folder}` is its folder.
#[derive(Default)]
struct Way<'a> {
    router: &'a str,
    transport: String,
    authenticators: String,
    /// An authority's certificate in PEM, which is put into the folder as `ca.pem`.
    authority: Vec<u8>,
}

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
        let transport = format!("driver = smtp\nallow_localhost\nport = {port}");
        Self::start(&Way { router: TO_HOST, transport, ..Way::default() })
    }

    /// The same within TLS, never without it, and behind the login if there is one; its password has no `^` and no `:`.
    pub fn to_smarthost_within_tls(server: &Secured<'_>) -> Self {
        let mut way = Way {
            router: TO_HOST,
            transport: format!(
                "driver = smtp\nallow_localhost\nport = {}\nprotocol = {}\nhosts_require_tls = *\n\
                 tls_verify_certificates = {{folder}}/ca.pem\ntls_verify_hosts = *\n",
                server.port,
                if server.implicit { "smtps" } else { "smtp" }
            ),
            authority: fs::read(server.ca_file).expect("the authority has a certificate"),
            ..Way::default()
        };
        if let Some(Login { name, password }) = &server.login {
            way.transport += "hosts_require_auth = *\n";
            let client = format!("client_send = ^{name}^{password}");
            way.authenticators = format!("plain:\ndriver = plaintext\npublic_name = PLAIN\n{client}\n");
        }
        Self::start(&way)
    }

    /// The same, with a transport that runs a command: its lines behind `driver = pipe`.
    pub fn to_pipe(transport: &str) -> Self {
        let transport = format!("driver = pipe\n{transport}");
        Self::start(&Way { router: "driver = accept", transport, ..Way::default() })
    }

    fn start(way: &Way<'_>) -> Self {
        let folder = tempfile::Builder::new().prefix("headgate-exim-").tempdir_in("/tmp").expect("/tmp is writable");
        let apart = Apart::new(folder.path().join("over"), "app4.example.com");
        let program = unpacked("exim/usr/sbin/exim4");
        let mut exim = Self { daemon: None, apart, folder, program, port: free_port() };
        exim.lay_out(way).unwrap_or_else(|error| panic!("the folder of Exim cannot be made: {error}"));
        let mut daemon = exim.apart.daemon(&exim.program);
        daemon.arg("-bdf").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        exim.daemon = Some(Guard::spawn(&mut daemon));
        assert!(wait_until(PATIENCE, || greets(exim.port)), "Exim does not start: {}", exim.log());
        exim
    }

    fn lay_out(&self, way: &Way<'_>) -> std::io::Result<()> {
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
        fs::write(folder.join("ca.pem"), &way.authority)?;
        fs::write(etc.join("exim4/exim4.conf"), self.settings(way))
    }

    /// Nothing is looked up in the DNS, and each host may be tried again at once.
    fn settings(&self, way: &Way<'_>) -> String {
        let Way { router, transport, authenticators, .. } = way;
        let (program, folder, port) = (self.program.display(), self.folder.path().display(), self.port);
        let settings = format!(
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
begin authenticators
{authenticators}"
        );
        settings.replace("{folder}", &folder.to_string())
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
