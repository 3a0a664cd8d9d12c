//! The program called under another name, as a link in somebody's path.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixtures::Ran;
use crate::gateway::HEADGATE;

/// A link to the program in a folder; started there, without the test's environment.
pub struct Link {
    path: PathBuf,
    environment: Vec<(String, String)>,
}

impl Link {
    /// Makes it.
    pub fn new(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        if !path.exists() {
            symlink(HEADGATE, &path).expect("the folder is writable");
        }
        // The address that gives credentials on Amazon's machines is never asked.
        Self { path, environment: vec![("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned())] }
    }

    /// With one more variable in its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.environment.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// A start of it, not run yet.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.path.parent().expect("a link is in a folder"));
        command
    }

    /// Runs it to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the link leads to the program");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        // One that does not read to the end closes the pipe; the test sees it by what it does.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = child.wait_with_output().expect("one's own child can be waited for");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { stdout: output.stdout, stderr, code: output.status.code() }
    }
}
