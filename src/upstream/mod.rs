//! Where mail goes: one attempt at a time.
//!
//! A message and its recipients go in, one [`Outcome`] comes out. An upstream never sleeps, retries or sees a store, and
//! it decides nothing about the next attempt.

mod outbox;
mod ses;

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;

use crate::mail::{Address, Envelope, Id, Message, Options, Outcomes, Period, Soon};

pub use ses::{Finding, Severity, lint};

/// One call to an upstream.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The id of the transaction.
    pub id: Id,
    /// Where reports about it go, if anywhere.
    pub feedback: Option<Address>,
    /// To whom; at most 50 for SES.
    pub recipients: Vec<Address>,
    /// The message as it is to arrive.
    pub message: Bytes,
    /// What rules ask for.
    pub options: Options,
}

/// A way out.
///
/// `send` returns within the attempt's time-out; when its future is dropped the fate of the attempt is unknown.
pub trait Upstream: Send + Sync {
    /// Its name in the settings.
    fn name(&self) -> &str;

    /// What it would refuse.
    fn lint(&self, envelope: &Envelope, message: &Message) -> Vec<Finding>;

    /// Recipients of one attempt at most.
    fn batch(&self) -> usize;

    /// Makes one attempt for all its recipients.
    fn send(&self, attempt: Attempt) -> Soon<'_, Outcomes>;

    /// Looks whether it would take mail now, and how much.
    ///
    /// # Errors
    /// Why it would not, in words for the operator.
    fn check(&self) -> Soon<'_, Result<Capacity, String>>;
}

/// What an upstream says it takes; nothing where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Recipients a second.
    pub rate: Option<f64>,
    /// Recipients in 24 hours.
    pub daily: Option<f64>,
    /// Recipients of the last 24 hours.
    pub sent: Option<f64>,
}

/// `[[upstream]]`: where mail goes.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Its name in the log and in rules.
    pub name: String,
    /// ses: Amazon SES by its API; outbox: a Maildir, for trying out and for tests.
    pub kind: Kind,
    /// ses: the region, such as eu-west-1; without it the AWS environment, profile or role says.
    pub region: String,
    /// ses: another endpoint, `https://host` or `http://host:port/prefix`, for a private endpoint or an emulator.
    pub endpoint_url: String,
    /// ses: a profile of the AWS configuration files.
    pub profile: String,
    /// ses: the configuration set that every message is sent with.
    pub configuration_set: String,
    /// outbox: the folder of the Maildir; made if it is not there.
    pub path: PathBuf,
    /// Its share of the mail among several upstreams.
    pub weight: u32,
    /// What becomes of a message that the upstream would refuse: refuse, warn (in the log) or off.
    pub lint: LintMode,
    /// ses: how long one call may take.
    pub attempt_timeout: Period,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            kind: Kind::Ses,
            region: String::new(),
            endpoint_url: String::new(),
            profile: String::new(),
            configuration_set: String::new(),
            path: PathBuf::new(),
            weight: 1,
            lint: LintMode::Refuse,
            attempt_timeout: Period::seconds(60),
        }
    }
}

/// The kinds of upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Amazon SES, by `SendEmail` of its API version 2.
    Ses,
    /// A Maildir.
    Outbox,
}

/// What becomes of a message that an upstream would refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LintMode {
    /// The client is told.
    Refuse,
    /// The log is told, the upstream decides.
    Warn,
    /// It is not looked at.
    Off,
}

/// An upstream cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("upstream {name}: {message}")]
pub struct SetupError {
    /// The upstream.
    pub name: String,
    /// Why, and what would help.
    pub message: String,
}

/// One kind of upstream.
pub struct UpstreamRow {
    /// The word in `kind` and in `--upstream KIND:ARG`.
    pub kind: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// The setting that `ARG` gives.
    pub argument: &'static str,
    build: for<'a> fn(&'a Settings) -> Soon<'a, Built>,
}

type Built = Result<Arc<dyn Upstream>, SetupError>;

/// All kinds.
pub const UPSTREAMS: &[UpstreamRow] = &[ses::ROW, outbox::ROW];

/// Sets an upstream up. One that cannot be reached now is no error.
///
/// # Errors
/// A setting that cannot work.
pub async fn build(settings: &Settings) -> Result<Arc<dyn Upstream>, SetupError> {
    let row = match settings.kind {
        Kind::Ses => &ses::ROW,
        Kind::Outbox => &outbox::ROW,
    };
    (row.build)(settings).await
}
