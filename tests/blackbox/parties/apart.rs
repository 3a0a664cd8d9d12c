//! A place on this machine that has a host name of its own, and files of its own in /etc and /dev.
//!
//! For mail servers whose names and paths are built in. What a folder of the place holds lies over the system's folder of
//! that name, for the processes started there alone, and nothing of the system's is written to. Needs root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the shell in the place does first. It goes on as the parent of the program: one that changes its user would lose
/// the wish to end with its starter.
const ENTER: &str = r#"
over=$1; hostname "$2" || exit; shift 2
for folder in "$over"/*; do
    mount -t overlay -o "lowerdir=$folder:/${folder##*/}" overlay "/${folder##*/}" || exit
done
"$@"
exit
"#;

/// The place.
pub struct Apart {
    over: PathBuf,
    host_name: &'static str,
}

impl Apart {
    /// Makes one; `over` is the folder that will hold the folders that lie over the system's.
    ///
    /// # Panics
    /// When not root.
    pub fn new(over: PathBuf, host_name: &'static str) -> Self {
        let euid = fs::metadata("/proc/self").expect("/proc is mounted").uid();
        assert!(euid == 0, "{host_name} needs root: run the tests as root, or leave out those named sendmail and exim");
        Self { over, host_name }
    }

    /// A folder that lies over `/name`.
    pub fn folder(&self, name: &str) -> std::io::Result<PathBuf> {
        let folder = self.over.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A program that runs there.
    pub fn command(&self, program: &Path) -> Command {
        self.entering(&["--mount", "--uts"], program)
    }

    /// A program that runs there until its starter ends it, and all that it started ends with it.
    pub fn daemon(&self, program: &Path) -> Command {
        self.entering(&["--mount", "--uts", "--pid", "--fork", "--kill-child=KILL"], program)
    }

    fn entering(&self, options: &[&str], program: &Path) -> Command {
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c", ENTER, "sh"]).arg(&self.over).arg(self.host_name).arg(program);
        command
    }
}

/// A file of a mail server that `scripts/install test` unpacked.
///
/// # Panics
/// When it is not there.
pub fn unpacked(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools").join(path);
    assert!(path.exists(), "there is no {}; `scripts/install test` installs what tests need", path.display());
    path
}
