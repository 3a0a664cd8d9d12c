//! Greeting, EHLO and HELO (RFC 5321 section 4.1.1.1), LHLO (RFC 2033 section 4.1).

use crate::mail::Reply;

use super::{
    super::{ext::EXTENSIONS, transaction::Event},
    Session, Step,
};

impl Session {
    /// What the server says first.
    pub fn greeting(&self) -> Reply {
        let protocol = if self.offer.lmtp { "LMTP" } else { "ESMTP" };
        Reply::plain(220, [format!("{} {protocol} Headgate", self.offer.hostname)])
    }

    pub(super) fn ehlo(&mut self, name: String) -> Step {
        let event = self.greet(name, true);
        let offers = EXTENSIONS.iter().filter_map(|one| {
            let arguments = (one.offered)(self)?;
            Some(format!("{} {arguments}", one.keyword).trim_end().to_owned())
        });
        let lines = std::iter::once(self.offer.hostname.clone()).chain(offers);
        Step::reply(Reply::plain(250, lines)).with(event)
    }

    pub(super) fn greet(&mut self, name: String, extended: bool) -> Option<Event> {
        (self.client.helo, self.client.extended, self.greeted) = (name, extended, true);
        self.abort()
    }
}
