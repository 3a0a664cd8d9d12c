//! The rule engine: facts and a draft go in, an edited draft and a verdict come out.
//!
//! It is pure: no I/O, no clock, no knowledge of stores, upstreams or sessions. Live traffic, `headgate rules test` and
//! `headgate explain` call the same [`Rules::run`].

mod action;
mod builtin;
mod draft;
mod facts;
mod file;
mod list;
mod matcher;
mod pattern;
mod repair;
mod run;
mod selector;
mod signature;
mod template;
mod test;
mod trace;

pub use action::{ACTIONS, ActionRow, Group};
pub use builtin::BUILTINS;
pub use draft::Draft;
pub use facts::Facts;
pub use file::{Rules, SourceText};
pub use matcher::{MATCHERS, MatcherRow};
pub use repair::{REPAIRS, RepairRow};
pub use run::Verdict;
pub use signature::stale_signatures;
pub use test::{Failure, Inspection, run_tests};
pub use trace::{Change, Trace};

use std::collections::BTreeMap;

/// `[rules]`: which rule files run.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Rule files, run in this order: a path, or `builtin:NAME` for a shipped one (rt, ses, ses-2011, ses-minimal).
    pub files: Vec<String>,
    /// Values for templates, as `{{ vars.NAME }}`.
    pub vars: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { files: vec!["builtin:rt".to_owned(), "builtin:ses".to_owned()], vars: BTreeMap::new() }
    }
}
