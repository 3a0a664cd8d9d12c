//! The access log lines of what a session reports.

use crate::{
    log::{Event as About, Record},
    mail::{Client, Id},
    smtp::{End, Event},
};

/// Characters of a name that nobody has: a client wrote it.
const NAME: usize = 255;

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
        Event::LoginRefused(name, known, reply) => {
            let mut record = Record::new(About::Session, Id::nil());
            record.request = format!("SMTP login={}", name.chars().take(NAME).collect::<String>());
            record.set_end("refused", Some(&reply));
            record.set_client(client);
            record.login = Some(name).filter(|_| known);
            return (record, None);
        }
    };
    record.set_client(client);
    (record, word)
}
