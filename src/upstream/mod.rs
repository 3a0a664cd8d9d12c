//! Where mail goes: one attempt at a time.
//!
//! A message and its recipients go in, [`Outcomes`] come out. An upstream never sleeps, retries or sees a store, and
//! it decides nothing about the next attempt.

mod certificate;
mod exam;
mod feedback;
mod outbox;
mod rate;
mod ses;
mod settings;
mod sight;
mod smtp;

use std::sync::Arc;

use bytes::Bytes;

use crate::mail::{Address, Asks, Dsn, Envelope, Id, Message, Options, Outcomes, Secret, Sender, Soon};

pub use exam::{
    Account, Credentials, Details, Exam, Identity, SesExam, Sight, Silence, SmtpExam, SmtpFault, Stage, Validity,
    examine,
};
pub use feedback::Feedback;
pub use rate::Rate;
pub use ses::{Finding, Severity, lint};
pub use settings::{BELONGS, Health, Kind, LintMode, Service, Settings, Tls};
pub use smtp::NextHop;

/// One call to an upstream.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The id of the transaction.
    pub id: Id,
    /// From whom, in the envelope; where reports go is the upstream's to say.
    pub sender: Sender,
    /// To whom; at most [`Upstream::batch`] of them.
    pub recipients: Vec<Address>,
    /// The message as it is to arrive.
    pub message: Bytes,
    /// What rules ask for.
    pub options: Options,
    /// What the sender asked to hear, for an upstream that can be told.
    pub dsn: Dsn,
    /// The same of each recipient.
    pub asked: Asks,
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

/// What an upstream has to know of the gateway.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Our own name, for EHLO.
    pub hostname: String,
    /// `[bounce] from`: the address that stands for the null sender with SES.
    pub bounce: Option<Address>,
    /// Access keys for SES in the place of the SDK's own chain of sources.
    pub keys: Option<Keys>,
    /// The region of SES when neither settings nor the AWS environment say one.
    pub region: Option<String>,
}

/// Access keys of an AWS account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The access key's id.
    pub id: String,
    /// The secret access key.
    pub secret: Secret,
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
    build: for<'a> fn(&'a Settings, &'a Site) -> Soon<'a, Built>,
}

type Built = Result<Arc<dyn Upstream>, SetupError>;

/// All kinds.
pub const UPSTREAMS: &[UpstreamRow] = &[ses::ROW, smtp::ROW, outbox::ROW];

/// Sets an upstream up. One that cannot be reached now is no error.
///
/// # Errors
/// A setting that cannot work.
pub async fn build(settings: &Settings, site: &Site) -> Result<Arc<dyn Upstream>, SetupError> {
    let row = match settings.kind {
        Kind::Ses => &ses::ROW,
        Kind::Smtp => &smtp::ROW,
        Kind::Outbox => &outbox::ROW,
    };
    (row.build)(settings, site).await
}
