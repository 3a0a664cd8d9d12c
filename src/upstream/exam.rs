//! What an upstream is found to be: the facts behind `headgate doctor`.
//!
//! The settings of one upstream go in, an [`Exam`] comes out. It judges nothing and gives no advice; nothing in it is a
//! secret.

use jiff::{SignedDuration, Timestamp};

use crate::mail::Address;

use super::{Settings, Site, outbox, ses, smtp};

/// What was found out about an upstream.
#[derive(Clone, Debug)]
pub enum Exam {
    /// Of SES by its API.
    Ses(Box<SesExam>),
    /// Of a mail server.
    Smtp(Box<SmtpExam>),
    /// Of a Maildir: why no file can be written there, and whether the folder is there at all.
    Outbox {
        /// Whether the folder is there; it is made when the gateway starts.
        present: bool,
        /// Whether a file could be written in it, or where it will be made.
        written: Result<(), String>,
    },
}

/// Of SES by its API.
#[derive(Clone, Debug)]
pub struct SesExam {
    /// The region and where it was set; `None` when nobody sets one.
    pub region: Option<(String, &'static str)>,
    /// The credentials, or why there are none.
    pub credentials: Result<Credentials, String>,
    /// The way to the endpoint; `None` when it is not known which that is.
    pub sight: Option<Sight>,
    /// GetAccount.
    pub account: Result<Account, Silence>,
    /// SES's clock, less ours; `None` when it told no time.
    pub clock: Option<SignedDuration>,
    /// ListEmailIdentities: all identities, and whether mail may be sent from them.
    pub identities: Result<Vec<(String, bool)>, Silence>,
    /// The identity that each sender stands for, if there is one.
    pub senders: Vec<(Address, Result<Option<Identity>, Silence>)>,
}

/// Of a mail server.
#[derive(Clone, Debug)]
pub struct SmtpExam {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Addresses that its name has; `None` for an address.
    pub lookup: Option<Result<usize, String>>,
    /// How far a connection came; with TLS, how long the server's certificate is valid.
    pub session: Result<Option<Result<Validity, String>>, SmtpFault>,
}

/// Why a mail server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpFault {
    /// How far it came.
    pub stage: Stage,
    /// What went wrong.
    pub cause: String,
}

/// How far a connection to a mail server came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It cannot be set up: a file or a setting.
    Setup,
    /// There is no connection, or it broke.
    Connection,
    /// TLS.
    Tls,
    /// The login.
    Login,
    /// It answers and does not want to speak.
    Welcome,
}

/// The credentials of AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Which members of the SDK's chain gave them, in its words.
    pub source: String,
    /// The role that was taken on with them by `role_arn`.
    pub role: Option<String>,
    /// The last characters of the access key's id.
    pub key: String,
    /// When they end, unless they are renewed.
    pub expires: Option<Timestamp>,
}

/// The way to an endpoint, without a word to what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Addresses that its name has; `None` for an address.
    pub lookup: Option<Result<usize, String>>,
    /// Whether a TCP connection came about.
    pub connection: Result<(), String>,
    /// How long its certificate is valid; `None` without TLS or connection.
    pub certificate: Option<Result<Validity, String>>,
}

/// The time within which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its first moment.
    pub from: Timestamp,
    /// Its last moment.
    pub until: Timestamp,
}

/// What the account may do (SES API, GetAccount).
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Whether it is out of the sandbox.
    pub production: bool,
    /// Whether sending is on.
    pub sending: bool,
    /// HEALTHY, PROBATION or SHUTDOWN.
    pub enforcement: String,
    /// Recipients a second, in 24 hours, and of the last 24 hours; -1 for no limit.
    pub quota: Option<[f64; 3]>,
}

/// An identity of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A domain or an address.
    pub name: String,
    /// Whether mail may be sent from it.
    pub verified: bool,
    /// GetEmailIdentity.
    pub details: Result<Details, Silence>,
}

/// What SES does with mail of an identity (SES API, GetEmailIdentity).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Details {
    /// PENDING, SUCCESS, FAILED, …
    pub status: String,
    /// Whether mail is signed.
    pub signs: bool,
    /// PENDING, SUCCESS, FAILED, …
    pub dkim: String,
    /// The CNAME records that Easy DKIM wants, name and target.
    pub records: Vec<(String, String)>,
    /// A MAIL FROM domain, its state, and whether mail is refused while that is not SUCCESS.
    pub mail_from: Option<(String, String, bool)>,
}

/// Why SES does not tell what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It was not asked, since there is no way to.
    Unasked,
    /// The policies of IAM do not allow that action; in SES's words.
    Denied(&'static str, String),
    /// It does not take the credentials, or the clock is wrong; in SES's words.
    Rejected(String),
    /// What stands there has no such call.
    Absent,
    /// It wants to be asked less often.
    Throttled,
    /// It answered something else.
    Failed(String),
    /// It did not answer.
    Unreached(String),
}

/// Finds out about an upstream, each step within its time; nothing is sent and nothing is changed.
pub async fn examine(settings: &Settings, site: &Site, senders: &[Address]) -> Exam {
    match settings.kind {
        super::Kind::Ses => Exam::Ses(Box::new(ses::examine(settings, site, senders).await)),
        super::Kind::Smtp => Exam::Smtp(Box::new(smtp::examine(settings, site).await)),
        super::Kind::Outbox => outbox::examine(settings),
    }
}
