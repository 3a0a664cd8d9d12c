//! Messages out of the queue and into it.

use std::net::Ipv4Addr;

use bytes::Bytes;
use jiff::{Timestamp, ZonedDateTime};

use crate::{
    delivery::{self, Details},
    header,
    mail::{Address, Asks, Client, Envelope, Id, Sender},
    smtp::Transaction,
    store::{Begin, Entry, Ordered, Place},
};

use super::{
    Answer, Deed, Done, Letter, Operator, Sheet, Stop, Teller, Told, answer::Fault, answer::FaultKind, deed, encoded,
    unknown,
};

impl Operator {
    /// Tells a message as it would leave, and to whom.
    pub(super) async fn export(&self, id: Id, out: &Teller) -> Told {
        let Some(account) = self.store.show(id).await? else { return out.tell(Answer::Deed(unknown(id))).await };
        let Some(message) = self.store.message(id).await? else {
            let text = "it is finished, and its body is gone".to_owned();
            return out.tell(Answer::Deed(Deed { id, result: Done::Unfit, text })).await;
        };
        let octets = message.to_bytes();
        let pending: Vec<_> = account.recipients.into_iter().filter(|one| one.settled.is_none()).collect();
        let sheet = Sheet {
            id,
            sender: account.summary.sender.0,
            dsn: account.dsn,
            asked: pending.iter().map(|one| (&one.address, one.asked.clone())).collect(),
            recipients: pending.into_iter().map(|one| one.address).collect(),
            user: account.summary.user,
            received: account.summary.received,
            octets: octets.len() as u64,
        };
        out.tell(Answer::Letter(sheet)).await?;
        for piece in encoded(&octets) {
            out.tell(Answer::Octets(piece)).await?;
        }
        Ok(())
    }

    /// Takes a message in under a new id.
    pub(super) async fn import(&self, letter: Letter, octets: Bytes) -> Result<Deed, Stop> {
        let fault = |kind, text: String| Stop::Fault(Fault::new(kind, text));
        if letter.recipients.is_empty() {
            return Err(fault(FaultKind::Usage, "a message needs a recipient".to_owned()));
        }
        if octets.len() as u64 > self.message_size.0 {
            let text = format!("the message has {} octets; at most {} are taken", octets.len(), self.message_size);
            return Err(fault(FaultKind::Refused, text));
        }
        let id = Id::mint();
        let entry =
            if letter.rules { self.through_the_door(id, letter, octets)? } else { as_it_is(id, letter, octets) };
        let done = match &entry.begin {
            Begin::Held(reason) => format!("held: {reason}"),
            _ => "queued".to_owned(),
        };
        self.store.put(entry).await?;
        if let Some(queue) = &self.queue {
            queue.wake();
        }
        Ok(deed(id, Ordered::Done, &done))
    }

    fn through_the_door(&self, id: Id, letter: Letter, raw: Bytes) -> Result<Entry, Fault> {
        let Some(doors) = &self.doors else {
            return Err(Fault::new(FaultKind::Unavailable, "there are no rules here"));
        };
        let Letter { sender, recipients, dsn, asked, .. } = letter;
        let envelope = Envelope { sender: Sender(sender), recipients, dsn, asked, ..Envelope::default() };
        let transaction = Transaction { id, client: client(), envelope, raw };
        let (story, prepared) = doors.mail.prepare(transaction, &ZonedDateTime::now());
        let accepted = prepared
            .map_err(|refusal| Fault::new(FaultKind::Refused, format!("{}: {}", refusal.outcome, refusal.reason)))?;
        let mut details = Details::new(&accepted, &story);
        details.user = details.user.or(letter.user);
        Ok(delivery::entry(accepted, &details))
    }
}

/// Who sends what an operator imports.
fn client() -> Client {
    Client::new(Ipv4Addr::LOCALHOST.into(), "import")
}

/// An entry that no rule has looked at.
fn as_it_is(id: Id, letter: Letter, raw: Bytes) -> Entry {
    let now = Timestamp::now();
    let details = Details { client: client(), user: letter.user.clone(), ..Details::read("") };
    let asked: Asks = letter.asked;
    let place = |address: Address| Place { asked: asked.of(&address), address, upstream: None };
    Entry {
        id,
        begin: Begin::Queued(now),
        sender: Sender(letter.sender),
        dsn: letter.dsn,
        user: letter.user,
        recipients: letter.recipients.into_iter().map(place).collect(),
        route: None,
        size: raw.len() as u64,
        message: header::split(&raw),
        before: None,
        details: details.text(),
        received: now,
    }
}
