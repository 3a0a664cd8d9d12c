//! A file system that is soon full.

use std::{path::Path, process::Command};

use tempfile::TempDir;

/// A file system of a few octets; unmounted when dropped. Needs root.
pub struct Disk(TempDir);

impl Disk {
    /// Makes one of that many octets, such as `64k`, or with other options of tmpfs behind a comma.
    ///
    /// # Panics
    /// When not root.
    pub fn mount(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "headgate-test"]).arg(folder.path());
        assert!(mount.status().unwrap().success(), "a small file system needs root");
        Self(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: the gateway may still hold its log open.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
