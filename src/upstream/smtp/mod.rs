//! `smtp`: a mail server, or the SMTP endpoint of SES.
//!
//! Each recipient gets what the server said of it. What was not answered when the connection ended is deferred; once the
//! final dot may have been read, it is doubtful. What an operator has to mend (name, TLS, login) is deferred with an
//! alarm.

mod connection;
mod data;
mod exam;
mod next_hop;
mod pool;
mod reply;
mod response;
mod tls;
mod transaction;
mod wire;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::timeout;

use crate::mail::{Address, Envelope, Message, Outcome, Outcomes, Sender, Soon};

use super::{
    Attempt, Capacity, Feedback, Finding, Settings, SetupError, Severity, Site, Upstream, UpstreamRow,
    ses::{self, Wishes},
};

use connection::{Caller, Peer};
use pool::Pool;
use transaction::{Letter, Progress};

pub use next_hop::NextHop;

pub(super) use exam::examine;
pub(super) use tls::connector;

pub(super) const ROW: UpstreamRow = UpstreamRow {
    kind: "smtp",
    doc: "a mail server by SMTP, also the SMTP endpoint of SES",
    argument: "address",
    build: |settings, site| Box::pin(std::future::ready(build(settings, site))),
};

/// Recipients that every server takes (RFC 5321 section 4.5.3.1.8).
const BATCH: usize = 100;

struct Smtp {
    name: String,
    caller: Caller,
    pool: Pool,
    attempt_timeout: Duration,
    /// What only SES understands; `None` for any other server.
    ses: Option<ForSes>,
    /// Octets of a message that the server took when it last said so; 0 while that is not known.
    size: AtomicUsize,
}

struct ForSes {
    wishes: Wishes,
    feedback: Feedback,
    bounce: Option<Address>,
}

fn build(settings: &Settings, site: &Site) -> Result<Arc<dyn Upstream>, SetupError> {
    let caller = Caller::new(settings, site).map_err(|message| SetupError { name: settings.name.clone(), message })?;
    let ses = settings.is_ses().then(|| ForSes {
        wishes: Wishes::of_settings(settings),
        feedback: settings.feedback.clone(),
        bounce: site.bounce.clone(),
    });
    Ok(Arc::new(Smtp {
        name: settings.name.clone(),
        caller,
        pool: Pool::default(),
        attempt_timeout: settings.attempt_timeout.0,
        ses,
        size: AtomicUsize::new(0),
    }))
}

impl Upstream for Smtp {
    fn name(&self) -> &str {
        &self.name
    }

    /// For SES as SES by its API. Any other server is taken to want what RFC 5321 wants: lines of at most 1000 octets
    /// and line ends of CRLF only, and no message over the size that it offered when it was last spoken to.
    fn lint(&self, envelope: &Envelope, message: &Message) -> Vec<Finding> {
        if self.ses.is_some() {
            return ses::lint(envelope, message);
        }
        let mut findings = Vec::new();
        let size = self.size.load(Ordering::Relaxed);
        if size > 0 && message.len() > size {
            let reason = format!("{} octets are over the {size} that the server takes", message.len());
            findings.push(Finding { severity: Severity::Refuse, line: 0, reason });
        }
        let first_body_line = memchr::memchr_iter(b'\n', &message.head).count() + 1;
        ses::line_findings(&message.head, 1, &mut findings);
        ses::line_findings(&message.rest, first_body_line, &mut findings);
        findings
    }

    fn batch(&self) -> usize {
        if self.ses.is_some() { ses::RECIPIENTS_MAX } else { BATCH }
    }

    fn send(&self, attempt: Attempt) -> Soon<'_, Outcomes> {
        Box::pin(async move {
            let letter = self.letter(attempt);
            let mut progress = Progress::new(letter.recipients.len());
            let ended = timeout(self.attempt_timeout, self.attempt(&letter, &mut progress)).await;
            match ended {
                Ok(Err(fault)) => progress.outcomes(*fault),
                // Behind Ok each recipient has an outcome.
                Ok(Ok(())) | Err(_) => progress.outcomes(reply::late()),
            }
        })
    }

    fn check(&self) -> Soon<'_, Result<Capacity, String>> {
        Box::pin(async move {
            let look = async {
                let mut peer = self.connect().await.map_err(|fault| fault.cause)?;
                peer.noop().await?;
                peer.quit().await;
                Ok(Capacity::default())
            };
            timeout(self.attempt_timeout, look).await.unwrap_or_else(|_| Err(reply::late().cause))
        })
    }
}

impl Smtp {
    /// What goes over the wire. Only SES is told of SES's options, and only SES wants an address for the null sender.
    fn letter(&self, attempt: Attempt) -> Letter {
        let Attempt { id, sender, recipients, message, options, dsn, asked } = attempt;
        let letter = Letter { sender, recipients, message, dsn, asked, for_ses: self.ses.is_some() };
        let Some(ses) = &self.ses else { return letter };
        let sender = Sender(ses.feedback.address(&letter.sender, ses.bounce.as_ref()));
        let message = Wishes::write(Wishes::of_rules(options), &ses.wishes, (id, letter.message));
        Letter { sender, message, ..letter }
    }

    async fn attempt(&self, letter: &Letter, progress: &mut Progress) -> Result<(), Box<Outcome>> {
        let mut peer = match self.pool.take().await {
            Some(peer) => peer,
            None => self.connect().await?,
        };
        if transaction::run(&mut peer, letter, progress).await? {
            self.pool.put(peer);
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Peer, Box<Outcome>> {
        let peer = self.caller.connect().await?;
        self.size.store(peer.offer.size.unwrap_or(0), Ordering::Relaxed);
        Ok(peer)
    }
}
