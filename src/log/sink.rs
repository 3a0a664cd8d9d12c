//! Where lines go: a thread of its own writes them, so that a slow disk or a full pipe stops no mail.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use super::{Format, FormatError, Record, Settings};

/// Lines that may wait for the disk.
const WAITING: usize = 20_000;

/// Called with the line that is lost, and the cause; without a line when the log could not be opened anew.
pub type Alarm = Arc<dyn Fn(Option<&str>, &str) + Send + Sync>;

/// An access log that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The format means nothing.
    #[error("access_log.format: {0}")]
    Format(#[from] FormatError),
    /// The file cannot be appended to.
    #[error("access_log.output: cannot append to {path}: {cause}")]
    File {
        /// The path in the settings.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The writing thread cannot be started.
    #[error("access_log: {0}")]
    Thread(io::Error),
}

enum Order {
    Line(String),
    Reopen,
}

/// The access log.
pub struct AccessLog {
    format: Format,
    orders: Option<SyncSender<Order>>,
    writer: Option<JoinHandle<()>>,
    alarm: Alarm,
}

impl AccessLog {
    /// Opens the log.
    ///
    /// # Errors
    /// A wrong format, or a file that cannot be appended to.
    pub fn open(settings: &Settings, alarm: Alarm) -> Result<Self, OpenError> {
        let format = Format::compile(&settings.format)?;
        let output = match settings.output.as_str() {
            "off" => return Ok(Self { format, orders: None, writer: None, alarm }),
            "stdout" => Output::Stdout,
            path => {
                let file =
                    append(&PathBuf::from(path)).map_err(|cause| OpenError::File { path: path.to_owned(), cause })?;
                Output::File { path: PathBuf::from(path), file, unsure: true }
            }
        };
        let (orders, received) = sync_channel(WAITING);
        let for_thread = Arc::clone(&alarm);
        let thread = std::thread::Builder::new().name("access log".to_owned());
        let writer = thread.spawn(move || work(output, &received, &for_thread)).map_err(OpenError::Thread)?;
        Ok(Self { format, orders: Some(orders), writer: Some(writer), alarm })
    }

    /// The header fields that its lines show.
    pub fn header_fields(&self) -> Vec<String> {
        self.format.header_fields()
    }

    /// Writes a record; never waits for the disk.
    pub fn write(&self, record: &Record) {
        let Some(orders) = &self.orders else { return };
        let line = self.format.line(record);
        if let Err(error) = orders.try_send(Order::Line(line)) {
            let (std::sync::mpsc::TrySendError::Full(order) | std::sync::mpsc::TrySendError::Disconnected(order)) =
                error;
            if let Order::Line(line) = order {
                (self.alarm)(Some(&line), "more lines wait than can be written");
            }
        }
    }

    /// Opens the file anew, as log rotation wants it.
    pub fn reopen(&self) {
        if let Some(orders) = &self.orders
            && orders.try_send(Order::Reopen).is_err()
        {
            (self.alarm)(None, "more lines wait than can be written");
        }
    }
}

/// All lines are written when it is gone.
impl Drop for AccessLog {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

enum Output {
    Stdout,
    /// `unsure` after an opening and after a failure: the file may then end in the middle of a line.
    File {
        path: PathBuf,
        file: File,
        unsure: bool,
    },
}

/// Opened for reading too, where that is permitted: [`is_torn`] looks at the end.
fn append(path: &PathBuf) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Who wrote to whom is for the operators, as in Apache's logs.
    options.create(true).append(true).mode(0o640);
    options.clone().read(true).open(path).or_else(|_| options.open(path))
}

/// Whether the file ends in the middle of a line, as a full disk or a crash leaves it.
fn is_torn(file: &mut File) -> bool {
    let mut last = [b'\n'];
    let regular = file.metadata().is_ok_and(|about| about.is_file());
    regular && file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).is_ok() && last != [b'\n']
}

impl Output {
    /// A line goes out in one write, so that lines of several processes do not mix.
    fn write(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(line.as_bytes())?;
                stdout.flush()
            }
            Self::File { file, unsure, .. } => {
                let written = if *unsure && is_torn(file) {
                    file.write_all(format!("\n{line}").as_bytes())
                } else {
                    file.write_all(line.as_bytes())
                };
                *unsure = written.is_err();
                written
            }
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File { path, file, unsure } => {
                (*file, *unsure) = (append(path)?, true);
                Ok(())
            }
        }
    }
}

fn work(mut output: Output, orders: &Receiver<Order>, alarm: &Alarm) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Line(line) => {
                if let Err(error) = output.write(&format!("{line}\n")) {
                    alarm(Some(&line), &error.to_string());
                }
            }
            Order::Reopen => {
                if let Err(error) = output.reopen() {
                    alarm(None, &error.to_string());
                }
            }
        }
    }
}
