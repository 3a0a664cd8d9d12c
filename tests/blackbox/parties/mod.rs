//! The other parties of a mail's way, and real ones: Postfix, Sendmail, Exim, OpenSMTPD, an emulator of SES, and the
//! clients people use.
//!
//! A party is a process of its own on a port of its own, ready when its constructor returns and gone when it is
//! dropped. None knows anything of the gateway but a port. `scripts/install test` puts their programs in place; a
//! missing one fails the test, since a skipped party would prove nothing.

#![allow(dead_code, reason = "each test file uses the parties it needs")]
#![allow(clippy::expect_used, clippy::panic, reason = "a party that cannot do its part fails the test")]

pub mod apart;
pub mod authority;
pub mod clients;
pub mod disk;
pub mod exim;
pub mod moto;
pub mod next_hop;
pub mod opensmtpd;
pub mod postfix;
pub mod proxies;
pub mod secured;
pub mod sendmail;
pub mod sink;
pub mod syslog;
pub mod tunnel;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a party may take to start. A loaded machine needs several seconds for a Postfix.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two looks at something that tells nobody when it changes.
const GLANCE: Duration = Duration::from_millis(50);

/// A TCP port of 127.0.0.1 that nobody listens on.
///
/// Below the range from which the system takes the ports of outgoing connections, any of which could take it before its
/// user does; each process begins elsewhere, and gives each port once.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 20_000;
    let begin = std::process::id().wrapping_mul(7_919) % u32::from(COUNT);
    let ports = std::iter::repeat_with(|| {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        FIRST + u16::try_from((begin + step) % u32::from(COUNT)).unwrap_or_default()
    });
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.take(usize::from(COUNT)).find(free).expect("loopback has a free port")
}

/// Whether something takes connections on the port of 127.0.0.1 before the patience is over.
pub fn wait_for_port(port: u16, patience: Duration) -> bool {
    wait_until(patience, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
}

/// Looks again and again until it is so, or the patience is over. Only for what offers no event to wait for.
pub fn wait_until(patience: Duration, mut so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if so() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(GLANCE);
    }
}

/// A mail server that has a queue: what a test asks of it, whichever it is.
pub trait MailServer {
    /// The port of 127.0.0.1 where it takes mail by SMTP.
    fn port(&self) -> u16;

    /// Submits a message by its `sendmail` command, and has it tried once. The arguments are those after the choice of the
    /// instance, such as `["-i", "-f", "a@example.com", "b@example.net"]`.
    fn inject(&self, arguments: &[&str], message: &[u8]) -> Output;

    /// Has all that waits tried again now.
    fn run_queue(&self);

    /// The recipients whose mail waits.
    fn waiting(&self) -> Vec<String>;

    /// All that it has logged.
    fn log(&self) -> String;

    /// Whether everything leaves the queue before the patience is over, bounces too; it is run again and again.
    fn empties_its_queue(&self, patience: Duration) -> bool {
        wait_until(patience, || {
            self.run_queue();
            self.waiting().is_empty()
        })
    }
}

/// Runs a command with this on its standard input.
///
/// # Panics
/// When the program cannot be started; the message names it.
pub fn fed(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("{command:?} does not start: {error}; `scripts/install test` installs what tests need"),
    };
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    thread::scope(|scope| {
        // One may talk before it has read all, and one that refuses its arguments does not read: its end tells.
        scope.spawn(move || {
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().expect("one's own child can be waited for")
    })
}

/// Whether an SMTP server greets on the port: some listen before they are able to answer.
pub fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let mut code = [0; 3];
    let in_time = stream.set_read_timeout(Some(PATIENCE)).is_ok() && stream.read_exact(&mut code).is_ok();
    // A client that just leaves is logged as lost.
    let _ = stream.write_all(b"QUIT\r\n");
    in_time && &code == b"220"
}

/// A child process that ends with its guard. Only this child is killed, never a process found by its name.
pub struct Guard(Child);

impl Guard {
    /// Starts the command.
    ///
    /// # Panics
    /// When the program cannot be started; the message names it.
    pub fn spawn(command: &mut Command) -> Guard {
        match command.spawn() {
            Ok(child) => Guard(child),
            Err(error) => {
                panic!("{command:?} does not start: {error}; `scripts/install test` installs what tests need")
            }
        }
    }

    /// How the child ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("one's own child can be waited for")
    }

    /// The child itself, for its pipes and its process id.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Neither can fail in a way that matters here: a child that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One HTTP request to 127.0.0.1: the status of the answer and its body.
///
/// HTTP/1.0, so that the answer is not chunked and ends with the connection.
pub fn http(port: u16, request_line: &str, fields: &[(&str, &str)], body: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{request_line} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;

    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let malformed = || std::io::Error::from(ErrorKind::InvalidData);
    let end = answer.windows(4).position(|octets| octets == b"\r\n\r\n").ok_or_else(malformed)?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(malformed)?;
    Ok((status, body))
}
