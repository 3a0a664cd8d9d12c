//! A private Sendmail: settings, queue and log of its own. All mail takes one way, to a port or through a mailer.
//!
//! It is the program of an unpacked package, with settings made by its own m4 files. Mail that is put off waits for
//! [`MailServer::run_queue`].

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tempfile::TempDir;

use super::apart::{Apart, unpacked};
use super::secured::{Login, Secured};
use super::syslog::Syslog;
use super::{Guard, MailServer, PATIENCE, fed, free_port, greets, wait_until};

/// A running Sendmail; ended when dropped.
pub struct Sendmail {
    // The first to go: its processes write into the folder and to the log.
    daemon: Option<Guard>,
    log: Syslog,
    apart: Apart,
    folder: TempDir,
    program: PathBuf,
    port: u16,
}

impl Sendmail {
    /// Starts one that relays everything to 127.0.0.1:`port`; returns when it greets clients.
    ///
    /// # Panics
    /// When not root, when Sendmail is not unpacked, or when it does not come up.
    pub fn to_smarthost(port: u16) -> Self {
        let features =
            format!("define(`SMART_HOST', `relay:[127.0.0.1]')dnl\ndefine(`RELAY_MAILER_ARGS', `TCP $h {port}')dnl\n");
        Self::start(&features, "", &[])
    }

    /// The same within TLS begun by STARTTLS, never without it, and behind the login if there is one: as a client it knows
    /// no TLS from the first octet on.
    pub fn to_smarthost_within_tls(server: &Secured<'_>) -> Self {
        assert!(!server.implicit, "Sendmail speaks STARTTLS");
        let mut features = format!(
            "define(`SMART_HOST', `relay:[127.0.0.1]')dnl
define(`RELAY_MAILER_ARGS', `TCP $h {}')dnl
define(`confCACERT', `{authority}')dnl
define(`confCACERT_PATH', `{{folder}}')dnl
FEATURE(`access_db', `hash {{folder}}/access')dnl
",
            server.port,
            authority = server.ca_file.display()
        );
        let mut tables = vec![("access", "TLS_Srv:\tVERIFY\n".to_owned())];
        if let Some(Login { name, password }) = &server.login {
            features += "FEATURE(`authinfo', `hash {folder}/authinfo')dnl\n";
            let password = STANDARD.encode(password);
            tables.push(("authinfo", format!("AuthInfo:\t\"U:{name}\" \"P={password}\" \"M:PLAIN\"\n")));
        }
        Self::start(&features, "", &tables)
    }

    /// The same, with a mailer that runs a command, to which a mailertable gives all mail. `definition` is what stands
    /// behind MAILER_DEFINITIONS, of a mailer that is called `aws-email`.
    pub fn to_mailer(definition: &str) -> Self {
        let features = "FEATURE(`mailertable', `hash {folder}/mailertable')dnl\n";
        let tables = [("mailertable", ".\taws-email:%0\n".to_owned())];
        Self::start(features, &format!("MAILER_DEFINITIONS\n{definition}\n"), &tables)
    }

    fn start(features: &str, definitions: &str, tables: &[(&str, String)]) -> Self {
        let folder =
            tempfile::Builder::new().prefix("headgate-sendmail-").tempdir_in("/tmp").expect("/tmp is writable");
        let apart = Apart::new(folder.path().join("over"), "app3.example.com");
        let log = Syslog::start(folder.path().join("log"));
        let program = unpacked("sendmail/usr/libexec/sendmail/sendmail");
        let mut sendmail = Self { daemon: None, log, apart, folder, program, port: free_port() };
        sendmail.lay_out().unwrap_or_else(|error| panic!("the folder of Sendmail cannot be made: {error}"));
        sendmail.configure(features, definitions).expect("the new folder is writable");
        for (name, text) in tables {
            sendmail.make_table(name, text);
        }
        let mut daemon = sendmail.apart.daemon(&sendmail.program);
        daemon.args(sendmail.choice()).arg("-bD");
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sendmail.daemon = Some(Guard::spawn(&mut daemon));
        assert!(wait_until(PATIENCE, || greets(sendmail.port)), "Sendmail does not start: {}", sendmail.log());
        sendmail
    }

    fn lay_out(&self) -> std::io::Result<()> {
        let folder = self.folder.path();
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        fs::create_dir(folder.join("queue"))?;
        fs::set_permissions(folder.join("queue"), Permissions::from_mode(0o700))?;
        symlink(folder.join("log"), self.apart.folder("dev")?.join("log"))?;
        fs::write(folder.join("services"), "hosts files\naliases files\npasswd files\n")
    }

    /// Nothing is looked up in the DNS.
    fn configure(&self, features: &str, definitions: &str) -> std::io::Result<()> {
        let macros = format!(
            "OSTYPE(`linux')dnl
define(`confDOMAIN_NAME', `app3.example.com')dnl
define(`QUEUE_DIR', `{{folder}}/queue')dnl
define(`STATUS_FILE', `{{folder}}/statistics')dnl
define(`confPID_FILE', `{{folder}}/sendmail.pid')dnl
define(`confSERVICE_SWITCH_FILE', `{{folder}}/services')dnl
define(`ALIAS_FILE', `')dnl
define(`HELP_FILE', `/dev/null')dnl
define(`confCONTROL_SOCKET_NAME', `')dnl
define(`confCW_FILE', `-o /dev/null')dnl
define(`confCT_FILE', `-o /dev/null')dnl
define(`confDEF_USER_ID', `mail:mail')dnl
define(`confDONT_PROBE_INTERFACES', `True')dnl
define(`confDONT_BLAME_SENDMAIL', `GroupWritableDirPathSafe,MapInUnsafeDirPath')dnl
define(`confTO_IDENT', `0s')dnl
FEATURE(`nocanonify')dnl
FEATURE(`accept_unresolvable_domains')dnl
FEATURE(`no_default_msa')dnl
FEATURE(`relay_entire_domain')dnl
FEATURE(`promiscuous_relay')dnl
DAEMON_OPTIONS(`Name=MTA, Addr=127.0.0.1, Port={port}')dnl
{features}MAILER(`smtp')dnl
{definitions}",
            port = self.port
        );
        let folder = self.folder.path();
        let macros = macros.replace("{folder}", &folder.display().to_string());
        let library = unpacked("sendmail/usr/share/sendmail/cf");
        let mut m4 = Command::new("m4");
        m4.arg(format!("-D_CF_DIR_={}/", library.display())).arg(library.join("m4/cf.m4")).arg("-");
        let output = fed(&mut m4, macros.as_bytes());
        assert!(output.status.success(), "{output:?}");
        fs::write(folder.join("sendmail.cf"), output.stdout)
    }

    fn make_table(&self, name: &str, text: &str) {
        let mut makemap = Command::new(unpacked("sendmail/usr/libexec/sendmail/makemap"));
        makemap.args(self.choice()).arg("hash").arg(self.folder.path().join(name));
        let output = fed(&mut makemap, text.as_bytes());
        assert!(output.status.success(), "{output:?}");
    }

    /// How the program is told which instance is meant.
    fn choice(&self) -> [String; 2] {
        ["-C".to_owned(), self.folder.path().join("sendmail.cf").display().to_string()]
    }

    fn command(&self, argument: &str) -> Command {
        let mut command = self.apart.command(&self.program);
        command.args(self.choice()).arg(argument);
        command
    }
}

impl MailServer for Sendmail {
    fn port(&self) -> u16 {
        self.port
    }

    fn inject(&self, arguments: &[&str], message: &[u8]) -> Output {
        // In the foreground: when the command has ended, so has the first attempt.
        fed(self.command("-odi").args(arguments), message)
    }

    fn run_queue(&self) {
        fed(&mut self.command("-qf"), b"");
    }

    /// Of lines such as `\t\t\t\t\t b@example.net`, in angle brackets when the mail came by SMTP.
    fn waiting(&self) -> Vec<String> {
        let output = fed(&mut self.command("-bp"), b"");
        let text = String::from_utf8_lossy(&output.stdout);
        let recipients = text.lines().filter_map(|line| line.strip_prefix("\t\t\t"));
        recipients.map(|one| one.trim().trim_matches(['<', '>']).to_owned()).collect()
    }

    fn log(&self) -> String {
        self.log.text()
    }
}
