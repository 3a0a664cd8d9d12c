//! The access log lines of a session.

use std::time::Duration;

use crate::{
    intake::{Receipt, Refusal, Story},
    log::{Event as About, Record},
    mail::{Client, Envelope, Id},
    smtp::{End, Event},
};

/// Characters of a user or a variable in a line: a client may have written them.
const VALUE: usize = 1000;

/// The line for a transaction that was handed in.
pub(super) struct Handed<'a> {
    pub(super) id: Id,
    pub(super) client: &'a Client,
    pub(super) envelope: &'a Envelope,
    pub(super) size: u64,
    pub(super) duration: Duration,
}

impl Handed<'_> {
    /// What became of it.
    pub(super) fn record(&self, story: Story, end: &Result<Receipt, Refusal>) -> Record {
        let mut record = Record::new(About::Message, self.id);
        record.set_client(self.client);
        record.set_envelope(self.envelope);
        (record.size, record.duration) = (self.size, self.duration);
        record.user = story.trace.user.map(|user| shown(&user));
        record.env = story.trace.env.into_iter().map(|(name, value)| (name, shown(&value))).collect();
        record.rules = story.trace.count;
        record.header = story.fields;
        match end {
            Ok(receipt) => {
                record.set_end(receipt.outcome, Some(&receipt.reply));
                record.reason.clone_from(&receipt.reason);
                record.ses_id.clone_from(&receipt.remote_id);
                record.upstream.clone_from(&receipt.upstream);
            }
            Err(refusal) => {
                record.set_end(refusal.outcome, Some(&refusal.reply));
                record.reason.clone_from(&refusal.reason);
            }
        }
        record
    }
}

/// As much of what a rule took from the mail as a line shows.
fn shown(value: &str) -> String {
    value.chars().take(VALUE).collect()
}

/// The line for what the session itself reports, and the word for the counters.
pub(super) fn event_record(event: Event, client: &Client) -> (Record, Option<&'static str>) {
    let (mut record, word) = match event {
        Event::Ended(open, end) => {
            let mut record = Record::new(About::Message, open.id);
            record.set_envelope(&open.envelope);
            match end {
                End::Aborted => record.set_end("aborted", open.refusal.as_ref()),
                End::Refused(reply, size) => {
                    record.size = size;
                    record.set_end("refused", Some(&reply));
                }
            }
            let word = record.outcome;
            (record, Some(word))
        }
        Event::MailRefused(path, reply) => {
            let mut record = Record::new(About::Session, Id::nil());
            record.request = format!("SMTP from=<{path}> to=");
            record.set_end("refused", Some(&reply));
            (record, None)
        }
    };
    record.set_client(client);
    (record, word)
}
