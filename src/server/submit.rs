//! A complete transaction on its way through the door to its sink, and its line in the log.

use crate::{
    header,
    intake::{Handed, Receipt, Refusal},
    mail::{Enhanced, Reply},
    smtp::Transaction,
};

use super::{BareLineEnds, connection::Connection, listener::Shared};

/// A message from this size on is prepared where it does not hold up other sessions.
const HEAVY: usize = 256 << 10;

impl Connection {
    /// Hands a transaction in and logs what became of it.
    pub(super) async fn submit(&mut self, transaction: Transaction) -> Reply {
        let (id, client, envelope) = (transaction.id, transaction.client.clone(), transaction.envelope.clone());
        let size = transaction.raw.len();
        let Shared { intake, sink, leaving, .. } = &self.house.shared;
        let refuses_bare = self.house.settings.bare_line_ends == BareLineEnds::Refuse;
        let prepare = || {
            let time = jiff::ZonedDateTime::now();
            if refuses_bare && let Some(refusal) = bare_refusal(&transaction.raw) {
                return (Default::default(), Err(refusal));
            }
            intake.prepare(transaction, &time)
        };
        let (story, prepared) = if size >= HEAVY { tokio::task::block_in_place(prepare) } else { prepare() };
        for rule in &story.trace.hits {
            self.house.shared.metrics.rule_hit(rule);
        }
        for warning in &story.warnings {
            tracing::warn!(%id, "{warning}");
        }
        let end = match prepared {
            Ok(accepted) => Ok(tokio::select! {
                receipt = sink.take(accepted, &story) => receipt,
                () = leaving.cancelled() => interrupted(),
            }),
            Err(refusal) => Err(refusal),
        };
        let reply = match &end {
            Ok(receipt) => receipt.reply.clone(),
            Err(refusal) => refusal.reply.clone(),
        };
        let handed =
            Handed { id, client: &client, envelope: &envelope, size: size as u64, duration: self.began.elapsed() };
        let record = handed.record(story, &end);
        let word = match (reply.is_positive(), record.outcome) {
            (_, "discarded") => "discarded",
            (true, _) => "accepted",
            (false, _) => "refused",
        };
        self.house.shared.metrics.message(word);
        self.house.shared.log.write(&record);
        reply.with_suffix(&format!("(id {id})"))
    }
}

/// The receipt of a message whose attempt is not waited for.
fn interrupted() -> Receipt {
    Receipt {
        reply: Reply::new(451, Enhanced(4, 4, 2), "Shutting down before the upstream has answered"),
        outcome: "deferred",
        reason: "ambiguous: the attempt was under way at the end of drain".to_owned(),
        upstream: None,
        remote_id: None,
    }
}

/// The refusal of a message with a lone CR or LF, where the listener refuses these.
fn bare_refusal(raw: &[u8]) -> Option<Refusal> {
    let lone = header::lines(raw).find(|line| {
        let ending = raw.get(line.content_end..line.end).unwrap_or_default();
        !ending.is_empty() && ending != b"\r\n"
    })?;
    let number = memchr::memchr_iter(b'\n', raw.get(..lone.start).unwrap_or_default()).count() + 1;
    let text = format!("Line {number} ends in a lone CR or LF (RFC 5321 section 2.3.8)");
    let reply = Reply::new(554, Enhanced(5, 6, 0), &text);
    Some(Refusal { reason: format!("bare_line_ends: {text}"), reply, outcome: "refused" })
}
