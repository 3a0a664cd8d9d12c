//! `outbox`: a Maildir, for trying out and for tests.
//!
//! A message is accepted when its file is synced in `new/` and the folder is synced too.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::mail::{Enhanced, Envelope, Message, Outcome, Outcomes, Reply, Soon};

use super::{Attempt, Capacity, Exam, Finding, Settings, SetupError, Upstream, UpstreamRow, ses};

pub(super) const ROW: UpstreamRow = UpstreamRow {
    kind: "outbox",
    doc: "a Maildir: each message becomes a file in its new/",
    argument: "path",
    build: |settings, _| Box::pin(std::future::ready(build(settings))),
};

/// As many recipients as SES takes, so that what is tried out is what will be.
const BATCH: usize = 50;

struct Outbox {
    name: String,
    folder: PathBuf,
}

fn build(settings: &Settings) -> Result<Arc<dyn Upstream>, SetupError> {
    let folder = settings.path.clone();
    for part in ["tmp", "new", "cur"] {
        fs::create_dir_all(folder.join(part)).map_err(|error| SetupError {
            name: settings.name.clone(),
            message: format!("cannot make the Maildir {}: {error}", folder.display()),
        })?;
    }
    Ok(Arc::new(Outbox { name: settings.name.clone(), folder }))
}

impl Upstream for Outbox {
    fn name(&self) -> &str {
        &self.name
    }

    fn lint(&self, envelope: &Envelope, message: &Message) -> Vec<Finding> {
        ses::lint(envelope, message)
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&self, attempt: Attempt) -> Soon<'_, Outcomes> {
        let folder = self.folder.clone();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || write(&folder, &attempt)).await;
            Outcomes::All(match written.map_err(io::Error::other).and_then(|result| result) {
                Ok(name) => Outcome::delivered(name.clone(), Reply::new(250, Enhanced(2, 0, 0), &format!("Ok {name}"))),
                Err(error) => {
                    let reply = Reply::new(451, Enhanced(4, 3, 0), "The outbox cannot be written");
                    Outcome::refused(reply, format!("outbox: {error}")).with_alarm()
                }
            })
        })
    }

    fn check(&self) -> Soon<'_, Result<Capacity, String>> {
        let new = self.folder.join("new");
        let found = fs::metadata(&new).map_err(|error| format!("the Maildir {}: {error}", new.display()));
        Box::pin(std::future::ready(found.map(|_| Capacity::default())))
    }
}

/// Looks whether a file can be written in the Maildir, or where it would be made.
pub(super) fn examine(settings: &Settings) -> Exam {
    let temporary = settings.path.join("tmp");
    let present = temporary.is_dir();
    let folder = if present { Some(temporary.as_path()) } else { temporary.ancestors().find(|folder| folder.exists()) };
    let folder = folder.unwrap_or(Path::new("."));
    let written = try_out(folder).map_err(|error| format!("{}: {error}", folder.display()));
    Exam::Outbox { present, written }
}

fn try_out(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!("headgate-doctor.{}", std::process::id()));
    let written = File::create_new(&file).and_then(|mut open| {
        open.write_all(b"a try\n")?;
        open.sync_all()
    });
    let _ = fs::remove_file(&file);
    written
}

/// Writes the message and gives the name of its file.
fn write(folder: &Path, attempt: &Attempt) -> io::Result<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = format!("{seconds}.{}.headgate", attempt.id);
    let (temporary, place) = (folder.join("tmp").join(&name), folder.join("new").join(&name));
    let written = File::create_new(&temporary).and_then(|mut file| {
        file.write_all(&attempt.message)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, &place)) {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(folder.join("new"))?.sync_all()?;
    Ok(name)
}
