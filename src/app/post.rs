//! A message from a command, straight to an upstream, without store or listener.

use std::sync::Arc;

use jiff::ZonedDateTime;
use tokio::time::Instant;

use crate::{
    config::{Loaded, Settings},
    delivery::{Once, Pace, Part, Router, UNWATCHED, Way},
    header,
    intake::{Accepted, Handed, Intake, Origin, Receipt, Refusal, Story},
    log::AccessLog,
    mail::{Enhanced, Fate, Options, Reply},
    smtp::Transaction,
    upstream::{self, Keys, SetupError, Site},
};

use super::outward;

/// What a command wants otherwise than the settings say.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Access keys in the place of those that the SDK finds.
    pub keys: Option<Keys>,
    /// The region when neither settings nor the AWS environment say one.
    pub region: Option<String>,
    /// Whether neither rules nor lint look at the message: it leaves octet for octet.
    pub untouched: bool,
}

/// The way out of a command.
pub struct Post {
    intake: Intake,
    once: Once,
    log: Option<AccessLog>,
    untouched: bool,
}

/// What became of a message.
#[derive(Debug)]
pub struct Posted {
    /// What the rules did.
    pub story: Story,
    /// What became of each recipient, or why there was no attempt.
    pub end: Result<Vec<Part>, Refusal>,
}

impl Post {
    /// Builds it; nothing is sent yet. The access log is that of the settings, but for stdout, which is the command's, and
    /// one that the command may not write is done without.
    ///
    /// # Errors
    /// An upstream that cannot work.
    pub async fn build(loaded: Loaded, wish: Wish) -> Result<Self, SetupError> {
        let Loaded { settings, rules } = loaded;
        let Wish { keys, region, untouched } = wish;
        let site = Site { keys, region, ..outward::site(&settings) };
        let (mut upstreams, mut ways) = (Vec::new(), Vec::new());
        for one in &settings.upstreams {
            let upstream = upstream::build(one, &site).await?;
            ways.push(Way::new(Arc::clone(&upstream), one.weight, Pace::Unlimited, UNWATCHED));
            upstreams.push(upstream);
        }
        let log = log(&settings);
        let fields = log.as_ref().map(AccessLog::header_fields).unwrap_or_default();
        let intake = Intake { traced: false, ..super::intake(&settings, rules, &upstreams, fields) };
        Ok(Self { intake, once: Once::new(Router::new(ways)), log, untouched })
    }

    /// Sends a message, and writes its line to the access log.
    pub async fn send(&self, transaction: Transaction) -> Posted {
        let began = Instant::now();
        let (id, client, envelope) = (transaction.id, transaction.client.clone(), transaction.envelope.clone());
        let size = transaction.raw.len() as u64;
        let (story, prepared) = if self.untouched {
            (Story::default(), Ok(untouched(transaction)))
        } else {
            self.intake.prepare(transaction, &ZonedDateTime::now())
        };
        let end = match prepared {
            Ok(Accepted { held: Some(rule), .. }) => Err(held(&rule)),
            Ok(accepted) => Ok(self.once.send(accepted).await),
            Err(refusal) => Err(refusal),
        };
        if let Some(log) = &self.log {
            let handed = Handed { id, client: &client, envelope: &envelope, size, duration: began.elapsed() };
            let told = end.as_ref().map(|parts| receipt(parts)).map_err(Clone::clone);
            log.write(&handed.record(story.clone(), &told));
        }
        Posted { story, end }
    }
}

fn log(settings: &Settings) -> Option<AccessLog> {
    let wanted = settings.access_log.output != "stdout";
    wanted.then(|| AccessLog::open(&settings.access_log, Arc::new(|_, _| {})).ok()).flatten()
}

/// A message that neither rules nor lint look at.
pub(super) fn untouched(transaction: Transaction) -> Accepted {
    let Transaction { id, client, envelope, raw } = transaction;
    let message = header::split(&raw);
    let origin = Origin { client, size: raw.len(), head: message.head.clone() };
    Accepted { id, envelope, message, options: Options::default(), origin, held: None }
}

/// A command keeps nothing, so it cannot hold a message.
fn held(rule: &str) -> Refusal {
    let text = format!("Rule \"{rule}\" holds this message, for which it has to be handed to a gateway with a queue");
    Refusal {
        reply: Reply::new(451, Enhanced(4, 7, 1), &text),
        outcome: "deferred",
        reason: format!("rule \"{rule}\""),
    }
}

/// The one answer for all recipients: the worst, a deferral before a failure, as for a client.
pub(super) fn receipt(parts: &[Part]) -> Receipt {
    let weight = |part: &&Part| match part.outcome.fate {
        Fate::Delivered => 0,
        Fate::Failed => 1,
        Fate::Deferred => 2,
    };
    let worst = parts.iter().rev().max_by_key(weight);
    let nobody = Reply::new(554, Enhanced(5, 5, 1), "No recipients");
    Receipt {
        reply: worst.map_or(nobody, |part| part.outcome.reply.clone()),
        outcome: worst.map_or("failed", |part| part.outcome.fate.word()),
        reason: worst.map(|part| part.outcome.cause.clone()).unwrap_or_default(),
        upstream: worst.and_then(|part| part.upstream.clone()),
        remote_id: worst.and_then(|part| part.outcome.remote_id.clone()),
    }
}
