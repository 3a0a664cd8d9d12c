//! Rules and certificate anew, on SIGHUP and when their files change; a broken file changes nothing and is told.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    config::{Loaded, Request, Settings, load},
    server::Shared,
};

/// Where the settings came from, and how the files they name looked when they were last read.
pub(super) struct Reload {
    request: Request,
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
}

/// What changes when a file does, also when it is a link that leads elsewhere now.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl Reload {
    pub(super) fn new(request: Request, settings: &Settings) -> Self {
        let rules = settings.rules.files.iter().filter(|file| !file.starts_with("builtin:")).map(PathBuf::from);
        let files: Vec<PathBuf> = rules.chain(settings.tls.clone().paths_mut().map(|path| path.clone())).collect();
        let seen = files.iter().map(|file| stamp(file)).collect();
        Self { request, files, seen }
    }

    /// Whether a file looks different from when this was last asked.
    pub(super) fn changed(&mut self) -> bool {
        let now: Vec<Option<Stamp>> = self.files.iter().map(|file| stamp(file)).collect();
        let changed = now != self.seen;
        self.seen = now;
        changed
    }

    /// Reads settings, rules and certificate again; takes the latter two, and names what else would need a restart.
    pub(super) fn reload(&self, current: &Settings, shared: &Shared) {
        // Whatever is wrong elsewhere: an old certificate ends.
        if let Some(certificates) = &shared.certificates {
            match certificates.reload() {
                Ok(()) => tracing::info!("the certificate is loaded anew"),
                Err(fault) => tracing::error!("{fault}; the old certificate stays"),
            }
        }
        match load(&self.request) {
            Ok(Loaded { settings, rules }) => {
                tracing::info!(rules = rules.len(), "the rules are loaded anew");
                shared.intake.set_rules(rules);
                for section in changed_sections(current, &settings) {
                    tracing::warn!(section, "the settings changed; a restart takes them over");
                }
            }
            Err(faults) => {
                for fault in faults {
                    tracing::error!("{fault}");
                }
                tracing::error!("the settings or rules are broken; the old rules stay");
            }
        }
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(file).ok()?;
    Some(Stamp { modified: metadata.modified().ok(), size: metadata.len(), inode: metadata.ino() })
}

fn changed_sections(old: &Settings, new: &Settings) -> Vec<String> {
    let sections = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (old, new) = (sections(old), sections(new));
    let names = new.as_object().map(|sections| sections.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    names.into_iter().filter(|name| old.get(name) != new.get(name)).collect()
}
