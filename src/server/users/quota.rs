//! What each login may send: messages a minute, recipients a day. Counted in memory, so a restart begins anew.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::mail::{Enhanced, Reply};

use super::Settings;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
/// Logins that are remembered; with more, those whose day is over are forgotten, then the one whose day began first.
const LOGINS: usize = 10_000;

/// What all logins have sent.
#[derive(Debug)]
pub(super) struct Quotas {
    messages: u32,
    recipients: u32,
    unlimited: Vec<String>,
    used: HashMap<String, Used>,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    messages: Window,
    recipients: Window,
}

/// A span of time that begins with what is first counted in it.
#[derive(Clone, Copy, Debug)]
struct Window {
    begin: Instant,
    length: Duration,
    count: u32,
}

impl Quotas {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            messages: settings.messages_per_minute,
            recipients: settings.recipients_per_day,
            unlimited: settings.unlimited.clone(),
            used: HashMap::new(),
        }
    }

    /// Counts a recipient, and with the first of a message the message.
    ///
    /// # Errors
    /// It would be one too many: what the client hears. Nothing is counted then.
    pub(super) fn charge(&mut self, login: &str, first: bool, now: Instant) -> Result<(), Reply> {
        let (messages, recipients) = (self.messages, self.recipients);
        if messages == 0 && recipients == 0 || self.unlimited.iter().any(|name| name == login) {
            return Ok(());
        }
        let used = self.used(login, now);
        let free = [
            used.messages
                .room(if first { messages } else { 0 }, now)
                .map_err(|wait| ("messages a minute", messages, wait)),
            used.recipients.room(recipients, now).map_err(|wait| ("recipients a day", recipients, wait)),
        ];
        if let Some((what, limit, wait)) = free.into_iter().find_map(Result::err) {
            let seconds = wait.as_secs() + 1;
            let text = format!("{login:.64} may have {limit} {what} here; try again in {seconds} s");
            return Err(Reply::new(450, Enhanced(4, 7, 1), &text));
        }
        used.messages.count += u32::from(first);
        used.recipients.count += 1;
        Ok(())
    }

    fn used(&mut self, login: &str, now: Instant) -> &mut Used {
        if self.used.len() >= LOGINS && !self.used.contains_key(login) {
            self.used.retain(|_, used| now.duration_since(used.recipients.begin) < DAY);
            let oldest = self.used.iter().min_by_key(|(_, used)| used.recipients.begin).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest.filter(|_| self.used.len() >= LOGINS) {
                self.used.remove(&oldest);
            }
        }
        let begin = |length| Window { begin: now, length, count: 0 };
        self.used.entry(login.to_owned()).or_insert_with(|| Used { messages: begin(MINUTE), recipients: begin(DAY) })
    }
}

impl Window {
    /// Whether one more has room, or how long it takes until it has; without a limit it always has.
    fn room(&mut self, limit: u32, now: Instant) -> Result<(), Duration> {
        let gone = now.duration_since(self.begin);
        if gone >= self.length {
            (self.begin, self.count) = (now, 0);
        }
        if limit == 0 || self.count < limit { Ok(()) } else { Err(self.length.saturating_sub(gone)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(messages: u32, recipients: u32) -> Quotas {
        Quotas::new(&Settings {
            messages_per_minute: messages,
            recipients_per_day: recipients,
            unlimited: vec!["bulk".to_owned()],
            ..Settings::default()
        })
    }

    #[test]
    fn messages_a_minute_and_recipients_a_day() {
        let (mut quotas, now) = (quotas(2, 4), Instant::now());
        let mut send = |login, first, now| quotas.charge(login, first, now).map_err(|reply| reply.to_string());
        assert_eq!(send("alice", true, now), Ok(()));
        assert_eq!(send("alice", false, now), Ok(()));
        assert_eq!(send("alice", true, now), Ok(()));
        let told = send("alice", true, now + Duration::from_secs(10)).unwrap_err();
        assert!(told.contains("450 4.7.1 alice may have 2 messages a minute here; try again in 51 s"), "{told}");
        assert_eq!(send("alice", false, now), Ok(()), "the message that is under way goes on");
        let told = send("alice", true, now + MINUTE).unwrap_err();
        assert!(told.contains("4 recipients a day here; try again in 86341 s"), "{told}");
        assert_eq!(send("alice", true, now + DAY), Ok(()));
        assert_eq!(send("bob", true, now), Ok(()));
        assert!((0..100).all(|_| send("bulk", true, now) == Ok(())));
    }

    #[test]
    fn memory_is_bounded() {
        let (mut quotas, now) = (quotas(1, 1), Instant::now());
        for number in 0..LOGINS + 100 {
            assert!(quotas.charge(&number.to_string(), true, now).is_ok());
        }
        assert_eq!(quotas.used.len(), LOGINS);
    }
}
