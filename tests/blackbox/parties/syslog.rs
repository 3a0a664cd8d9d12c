//! A system log of one's own: the socket that programs write their log lines to, and what they wrote.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::PATIENCE;

/// No program's line: asks whether all before it has arrived.
const MARK: &[u8] = b"\0mark";
/// The end of the log.
const END: &[u8] = b"\0end";

/// The log; it ends when dropped.
pub struct Syslog {
    path: PathBuf,
    lines: Arc<Mutex<String>>,
    marks: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Syslog {
    /// Starts one at a path.
    ///
    /// # Panics
    /// When there can be no socket.
    pub fn start(path: PathBuf) -> Self {
        let socket = UnixDatagram::bind(&path).expect("a new socket");
        let lines = Arc::new(Mutex::new(String::new()));
        let (mark, marks) = mpsc::channel();
        let written = Arc::clone(&lines);
        let thread = thread::spawn(move || {
            let mut octets = vec![0; 64 << 10];
            while let Ok(length) = socket.recv(&mut octets) {
                match &octets[..length] {
                    END => break,
                    MARK => mark.send(()).unwrap_or_default(),
                    line => {
                        let line = String::from_utf8_lossy(line);
                        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                        written.push_str(line.trim_end_matches(['\0', '\n']));
                        written.push('\n');
                    }
                }
            }
        });
        Self { path, lines, marks, thread: Some(thread) }
    }

    /// All that was written before the call.
    ///
    /// # Panics
    /// When the log has ended.
    pub fn text(&self) -> String {
        // Datagrams arrive in the order in which they were sent.
        self.write(MARK).expect("the log takes lines");
        self.marks.recv_timeout(PATIENCE).expect("the log is read");
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn write(&self, octets: &[u8]) -> std::io::Result<usize> {
        UnixDatagram::unbound()?.send_to(octets, &self.path)
    }
}

impl Drop for Syslog {
    fn drop(&mut self) {
        // A thread that cannot be told has ended, or ends with the process.
        if let (Ok(_), Some(thread)) = (self.write(END), self.thread.take()) {
            let _ = thread.join();
        }
    }
}
