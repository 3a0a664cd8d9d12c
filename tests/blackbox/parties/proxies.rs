//! Proxies before the gateway: HAProxy, and nginx as a proxy of mail. Each is the program of an unpacked package, with
//! settings of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use tempfile::TempDir;

use super::{Guard, PATIENCE, apart::unpacked, free_port, wait_for_port};

/// A proxy; ended when dropped.
pub struct Proxy {
    _daemon: Guard,
    folder: TempDir,
    port: u16,
}

impl Proxy {
    /// HAProxy before 127.0.0.1:`port`; `bind` and `server` are what its lines of these names end in, such as
    /// `ssl crt FILE` and `send-proxy-v2`.
    ///
    /// # Panics
    /// When HAProxy is not unpacked, or does not come up.
    pub fn haproxy(port: u16, bind: &str, server: &str) -> Self {
        let (folder, own) = (tempfile::tempdir().expect("/tmp is writable"), free_port());
        let settings = format!(
            "defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend smtp
  bind 127.0.0.1:{own} {bind}
  default_backend gateway
backend gateway
  server one 127.0.0.1:{port} {server}
"
        );
        let file = write(folder.path(), &settings);
        let mut command = Command::new(unpacked("haproxy/usr/sbin/haproxy"));
        command.arg("-db").arg("-f").arg(file);
        Self::begin(command, folder, own)
    }

    /// nginx before 127.0.0.1:`port`, which hears of the clients by XCLIENT.
    ///
    /// # Panics
    /// When nginx is not unpacked, or does not come up.
    pub fn nginx(port: u16) -> Self {
        let (folder, own) = (tempfile::tempdir().expect("/tmp is writable"), free_port());
        let module = unpacked("nginx/usr/lib/nginx/modules/ngx_mail_module.so");
        let settings = format!(
            "load_module {};
daemon off;
master_process off;
pid nginx.pid;
error_log error.log info;
events {{ }}
mail {{
  server_name proxy.example.org;
  auth_http 127.0.0.1:{};
  server {{
    listen 127.0.0.1:{own};
    protocol smtp;
    smtp_auth plain none;
    xclient on;
    proxy on;
    proxy_pass_error_message on;
  }}
}}
",
            module.display(),
            oracle(port)
        );
        let file = write(folder.path(), &settings);
        let mut command = Command::new(unpacked("nginx/usr/sbin/nginx"));
        command.arg("-p").arg(folder.path()).arg("-e").arg("error.log").arg("-c").arg(file);
        Self::begin(command, folder, own)
    }

    fn begin(mut command: Command, folder: TempDir, port: u16) -> Self {
        let log = fs::File::create(folder.path().join("output")).expect("one's own folder is writable");
        let copy = log.try_clone().expect("a file can be had twice");
        let daemon = Guard::spawn(command.stdin(Stdio::null()).stdout(log).stderr(copy));
        let proxy = Self { _daemon: daemon, folder, port };
        assert!(wait_for_port(port, PATIENCE), "{command:?} does not start: {}", proxy.log());
        proxy
    }

    /// The port of 127.0.0.1 where it takes connections.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// All that it has printed and logged.
    pub fn log(&self) -> String {
        ["output", "error.log"]
            .map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default())
            .concat()
    }
}

fn write(folder: &Path, settings: &str) -> PathBuf {
    let file = folder.join("settings");
    fs::write(&file, settings).expect("one's own folder is writable");
    file
}

/// Whom nginx asks about each client: all may in, to 127.0.0.1:`port`. It ends with the process of the tests.
fn oracle(port: u16) -> u16 {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let own = socket.local_addr().expect("a bound socket has an address").port();
    thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let answer =
                format!("HTTP/1.0 200 OK\r\nAuth-Status: OK\r\nAuth-Server: 127.0.0.1\r\nAuth-Port: {port}\r\n\r\n");
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    own
}
