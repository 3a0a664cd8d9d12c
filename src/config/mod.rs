//! The settings: read from file, environment and flags, checked as a whole, and explained.
//!
//! A [`Request`] goes in; [`Settings`] or every [`Fault`] come out. It opens no socket and no log.

mod check;
mod env;
mod load;
mod reference;
mod schema;
mod shape;

use std::path::PathBuf;

pub use load::{Draft, Loaded, Request, draft, file, load};
pub use reference::reference;

use crate::{bounce, console, delivery, log, rules, server, store, upstream};

/// All settings.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Our own name, in the greeting and in Received; empty for the machine's own.
    pub hostname: String,
    /// Where clients connect.
    #[serde(rename = "listener")]
    pub listeners: Vec<server::Settings>,
    /// The certificate that listeners with TLS show.
    pub tls: server::TlsSettings,
    /// Who may log in.
    pub users: server::UserSettings,
    /// What one client, and all of them, may make grow.
    pub limits: server::Limits,
    /// Which rule files run.
    pub rules: rules::Settings,
    /// How accepted mail goes out.
    pub delivery: delivery::Settings,
    /// Where the queue is kept. In direct mode there is a store only if this table is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "store::Settings")]
    pub store: Option<store::Settings>,
    /// Where mail goes.
    #[serde(rename = "upstream")]
    pub upstreams: Vec<upstream::Settings>,
    /// Whom reports come from.
    pub bounce: bounce::Settings,
    /// Who sent what.
    pub access_log: log::Settings,
    /// Health and metrics.
    pub http: console::Settings,
    /// What the program itself has to say, on stderr.
    pub log: log::Diagnostics,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hostname: String::new(),
            listeners: vec![server::Settings::default()],
            tls: server::TlsSettings::default(),
            users: server::UserSettings::default(),
            limits: server::Limits::default(),
            rules: rules::Settings::default(),
            delivery: delivery::Settings::default(),
            store: Some(store::Settings::default()),
            upstreams: vec![upstream::Settings::default()],
            bounce: bounce::Settings::default(),
            access_log: log::Settings::default(),
            http: console::Settings::default(),
            log: log::Diagnostics::default(),
        }
    }
}

impl Settings {
    /// The settings as TOML, secrets hidden.
    ///
    /// # Errors
    /// TOML cannot hold a value; none of ours is such.
    pub fn show(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Our own name: as set, else the machine's, else `localhost`.
    pub fn own_name(&self) -> String {
        let system = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let name = if self.hostname.is_empty() { system() } else { self.hostname.clone() };
        if crate::mail::Address::from_parts("postmaster", &name).is_ok() { name } else { "localhost".to_owned() }
    }

    /// Makes relative paths start at a folder.
    fn resolve(&mut self, base: &std::path::Path) {
        for upstream in &mut self.upstreams {
            let paths = [&mut upstream.path, &mut upstream.ca_file, &mut upstream.password_file];
            for path in paths.into_iter().filter(|path| !path.as_os_str().is_empty()) {
                *path = base.join(&path);
            }
        }
        for listener in &mut self.listeners {
            if let Some(server::Place::Unix(path)) = listener.place() {
                listener.address = format!("{}{}", server::UNIX, base.join(path).display());
            }
        }
        for path in self.tls.paths_mut() {
            *path = base.join(&path);
        }
        if !self.users.file.as_os_str().is_empty() {
            self.users.file = base.join(&self.users.file);
        }
        if let Some(store) = &mut self.store
            && let Some(path) = store.path()
        {
            store.url = format!("sqlite:{}", base.join(path).display());
        }
        if !["stdout", "off", ""].contains(&self.access_log.output.as_str()) {
            self.access_log.output = base.join(&self.access_log.output).display().to_string();
        }
        for file in self.rules.files.iter_mut().filter(|file| !file.starts_with("builtin:")) {
            *file = base.join(PathBuf::from(file.as_str())).display().to_string();
        }
    }
}
