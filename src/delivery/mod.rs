//! Delivery: the sinks behind intake, and the way to an upstream.
//!
//! Accepted messages go in, receipts come out. This room owns time: how long an attempt is waited for, how many there
//! are at once, how fast an upstream is sent to and which is next, when a deferred message is tried again and when its
//! sender is told.

mod batch;
mod details;
mod direct;
mod dispatch;
mod health;
mod identities;
mod memory;
mod once;
mod queue;
mod rate;
mod reports;
mod retry;
mod round;
mod route;

pub use details::Details;
pub use direct::{Direct, Shared};
pub use dispatch::look_after;
pub use health::Checks;
pub use once::{Once, Part, UNWATCHED};
pub use queue::{Parts, Queue, Sorting, entry};
pub use rate::Pace;
pub use reports::Reports;
pub use retry::Retry;
pub use route::{Choice, Condition, Router, Way};

use crate::mail::Period;

/// Recipients of one message in direct mode: what SES takes in one call. One call has one answer, so a message for more
/// could not be answered truly.
pub const DIRECT_RECIPIENTS: usize = 50;

/// `[delivery]`: how accepted mail goes out.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// queue: mail is durable here, then sent; direct: the reply to the data waits for the upstream's answer.
    pub mode: Mode,
    /// Attempts at once.
    pub concurrency: usize,
    /// queue: when a deferred message is tried again, and when it is given up.
    pub retry: Retry,
    /// direct: how long a client waits for the upstream, then it hears 451 4.4.2; the attempt is finished all the same.
    pub direct_timeout: Period,
    /// How long SIGTERM waits for what is under way.
    pub drain: Period,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Queue,
            concurrency: 64,
            retry: Retry::default(),
            direct_timeout: Period::seconds(60),
            drain: Period::seconds(30),
        }
    }
}

/// When the client hears 250.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// When the message is durable here.
    Queue,
    /// When the upstream has accepted it.
    Direct,
}
