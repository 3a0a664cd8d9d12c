//! The access log's line for a message that was handed in.

use std::time::Duration;

use crate::{
    log::{Event, Record},
    mail::{Client, Envelope, Id},
};

use super::{Receipt, Refusal, Story};

/// Characters of a user or a variable in a line: a client may have written them.
const VALUE: usize = 1000;

/// A message that was handed in.
pub struct Handed<'a> {
    /// Its id.
    pub id: Id,
    /// Who handed it in.
    pub client: &'a Client,
    /// Before the rules.
    pub envelope: &'a Envelope,
    /// Octets received.
    pub size: u64,
    /// From its beginning to the answer.
    pub duration: Duration,
}

impl Handed<'_> {
    /// The line that says what became of it.
    pub fn record(&self, story: Story, end: &Result<Receipt, Refusal>) -> Record {
        let mut record = Record::new(Event::Message, self.id);
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
