//! A running `headgate serve` with settings of its own, in a folder of its own.

#![allow(dead_code, reason = "each test file uses what it needs")]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::parties::{Guard, PATIENCE, free_port, http, wait_until};

/// The program under test.
pub const HEADGATE: &str = env!("CARGO_BIN_EXE_headgate");

/// Credentials that the fake SES and the emulators take.
pub const CREDENTIALS: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrEXAMPLEKEY"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

/// The program with no environment but the credentials.
pub fn headgate() -> Command {
    let mut command = Command::new(HEADGATE);
    command.env_clear().envs(CREDENTIALS.iter().copied()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// A gateway; gone when dropped.
pub struct Gateway {
    guard: Guard,
    folder: TempDir,
    flags: Vec<String>,
    port: u16,
    http_port: u16,
}

/// Starts it in a folder that holds its settings; what it prints goes behind what an earlier one printed.
fn spawn(folder: &Path, set: &[String]) -> Guard {
    let output = File::options().create(true).append(true).open(folder.join("stderr")).unwrap();
    let mut command = headgate();
    command.arg("serve").arg("--config").arg(folder.join("headgate.toml")).current_dir(folder);
    // What somebody set to look into another program does not make ours say more.
    command.env("RUST_LOG", "trace");
    for pair in set {
        command.arg("--set").arg(pair);
    }
    Guard::spawn(command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output))
}

/// Settings that most tests need: `{port}`, `{http}` and `{folder}` are filled in. The JSON access log is `access.log`.
pub const BASE: &str = r#"
hostname = "relay.example.com"
[[listener]]
name = "smtp"
address = "127.0.0.1:{port}"
[access_log]
output = "access.log"
format = "json"
[http]
address = "127.0.0.1:{http}"
"#;

/// An SES upstream at an endpoint.
pub fn ses(endpoint: &str) -> String {
    format!("[[upstream]]\nname = \"fake\"\nkind = \"ses\"\nregion = \"us-east-1\"\nendpoint_url = \"{endpoint}\"\n")
}

impl Gateway {
    /// Starts it with [`BASE`] and an SES upstream.
    pub fn with_ses(endpoint: &str) -> Self {
        Self::start(&format!("{BASE}{}", ses(endpoint)))
    }

    /// Starts it with these settings; ready when `/readyz` says so.
    pub fn start(settings: &str) -> Self {
        Self::start_with(settings, &[])
    }

    /// The same with `--set` for each of these.
    pub fn start_with(settings: &str, set: &[String]) -> Self {
        let mut gateway = Self::launch_with(settings, set);
        let ready = wait_until(PATIENCE, || !gateway.runs() || gateway.page("/readyz").0 == 200);
        assert!(ready && gateway.runs(), "headgate does not start: {}", gateway.stderr());
        gateway
    }

    /// Starts it and does not wait: for one that may not come up.
    pub fn launch(settings: &str) -> Self {
        Self::launch_with(settings, &[])
    }

    fn launch_with(settings: &str, set: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (port, http_port) = (free_port(), free_port());
        let filled = settings
            .replace("{port}", &port.to_string())
            .replace("{http}", &http_port.to_string())
            .replace("{folder}", &folder.path().display().to_string());
        fs::write(folder.path().join("headgate.toml"), filled).unwrap();
        let mut flags = Vec::new();
        // Without a word about the mode a test is about the session, and an answer tells it most when it is the upstream's.
        if !settings.contains("mode = ") {
            flags.push("delivery.mode=direct".to_owned());
        }
        flags.extend_from_slice(set);
        let guard = spawn(folder.path(), &flags);
        Self { guard, folder, flags, port, http_port }
    }

    /// Starts it again in its folder, once it has ended; ready when `/readyz` says so.
    pub fn start_again(&mut self) {
        self.launch_again();
        let ready = wait_until(PATIENCE, || !self.runs() || self.page("/readyz").0 == 200);
        assert!(ready && self.runs(), "headgate does not start again: {}", self.stderr());
    }

    /// The same, and does not wait.
    pub fn launch_again(&mut self) {
        self.guard = spawn(self.folder.path(), &self.flags);
    }

    /// Ends it by SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.guard.child().kill();
        self.wait_for_end();
    }

    /// The port of its SMTP listener.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of its pages.
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// A file in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its process id.
    pub fn pid(&mut self) -> u32 {
        self.guard.child().id()
    }

    /// Status and text of one of its pages; status 0 when it does not answer.
    pub fn page(&self, path: &str) -> (u16, String) {
        match http(self.http_port, &format!("GET {path}"), &[], b"") {
            Ok((status, body)) => (status, String::from_utf8_lossy(&body).into_owned()),
            Err(_) => (0, String::new()),
        }
    }

    /// A number of `/metrics`, by its name with its labels.
    pub fn metric(&self, name: &str) -> u64 {
        let page = self.page("/metrics").1;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name} is not in {page}")).parse().unwrap()
    }

    /// All it printed.
    pub fn stderr(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap_or_default()
    }

    /// The access log as it stands.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("access.log")).unwrap_or_default()
    }

    /// The JSON records of one event, once there are that many; a log tells nobody when it grows.
    pub fn records(&self, event: &str, count: usize) -> Vec<Value> {
        let all = || -> Vec<Value> {
            let log = self.log();
            let lines = log.lines().filter(|_| log.ends_with('\n'));
            lines
                .map(|line| serde_json::from_str(line).unwrap())
                .filter(|record: &Value| record["event"] == event)
                .collect()
        };
        wait_until(PATIENCE, || all().len() >= count);
        all()
    }

    /// Sends it a signal by name.
    pub fn signal(&mut self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Ends it by SIGTERM; how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait_for_end()
    }

    /// How it ended, once it has.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(PATIENCE + Duration::from_secs(10), || {
            status = self.guard.ended();
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("it does not end: {}", self.stderr()))
    }

    /// Octets of memory it has resident (VmRSS).
    pub fn resident(&mut self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Octets of memory it ever had resident (VmHWM): no peak between two looks is missed.
    pub fn peak_resident(&mut self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&mut self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.guard.ended().is_none()
    }
}
