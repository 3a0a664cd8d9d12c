//! STARTTLS (RFC 3207), and what a session knows before and behind the handshake.

use crate::mail::Reply;

use super::{Next, OK, SEQUENCE, Session, Step};

impl Session {
    pub(super) fn start_tls(&mut self) -> Step {
        if self.client.tls.is_some() {
            return Step::reply(Reply::new(503, SEQUENCE, "TLS has begun already"));
        }
        if !self.offer.starttls {
            return Step::reply(Reply::new(502, SEQUENCE, "STARTTLS is not offered here"));
        }
        let reply = Reply::new(220, OK, "Begin TLS now");
        Step { reply: Some(reply), event: self.abort(), next: Next::Handshake }
    }

    /// Answers a STARTTLS behind which more came in clear text; only the event of its own step counts then.
    ///
    /// Whoever sits between may have put it there to have it done within TLS (CVE-2011-0411). A client that waits for
    /// the reply, as RFC 3207 section 4 has it, sends nothing there. The session ends, since the rest may still be on its way.
    pub fn pipelined(&self) -> Step {
        let reply = Reply::new(503, SEQUENCE, "Nothing may follow STARTTLS before its reply; goodbye");
        Step { reply: Some(reply), event: None, next: Next::Close }
    }

    /// TLS of that version has begun: all that was said before is forgotten (RFC 3207 section 4.2), a transaction already.
    pub fn secured(&mut self, version: &str) {
        (self.client.helo, self.client.extended, self.greeted) = (String::new(), false, false);
        (self.client.login, self.exchange) = (None, None);
        self.client.tls = Some(version.to_owned());
    }
}
