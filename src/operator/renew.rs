//! A message under the present rules.
//!
//! The rules run on the message as it stands, without our own Received, which the door puts there again with the time
//! of the first. What the first run took out is gone: a rule sees the header that is there now.

use bytes::Bytes;
use jiff::{Timestamp, tz::TimeZone};

use crate::{
    delivery::{self, Details},
    header::Header,
    intake::{Accepted, Intake, Story},
    mail::{Envelope, Id, Message},
    smtp::Transaction,
    store::{Account, Begin, Entry, Order, Ordered, State},
};

use super::{Deed, Done, Operator, Stop, answer::Fault, answer::FaultKind, deed, unknown};

impl Operator {
    /// Puts in the place of a message what the present rules make of it: due now, or held as before. When they refuse
    /// it, it stays as it was.
    pub(super) async fn renew(&self, id: Id) -> Result<Deed, Stop> {
        let Some(doors) = &self.doors else {
            return Err(Fault::new(FaultKind::Unavailable, "there are no rules here").into());
        };
        let Some(account) = self.store.show(id).await? else { return Ok(unknown(id)) };
        let (state, lease) = (account.summary.state, account.summary.lease);
        let message = match state {
            State::Leased => return Ok(deed(id, Ordered::Leased, "")),
            State::Finished => return Ok(deed(id, Ordered::Finished, "")),
            State::Queued | State::Held => self.store.message(id).await?,
        };
        let Some(message) = message else { return Ok(deed(id, Ordered::Changed, "")) };
        let details = Details::read(&account.details);
        let door = if details.about.is_some() { &doors.reports } else { &doors.mail };
        let (story, prepared) = prepare(door, &account, &details, message);
        let accepted = match prepared {
            Ok(accepted) => accepted,
            Err(refusal) => {
                let text = format!("refused now, and left as it was: {}", refusal.reason);
                return Ok(Deed { id, result: Done::Refused, text });
            }
        };
        let changes = match story.trace.count {
            1 => "1 change".to_owned(),
            count => format!("{count} changes"),
        };
        let entry = entry(accepted, &story, (account, details));
        let then = match &entry.begin {
            Begin::Held(reason) => format!("held: {reason}"),
            _ => "due now".to_owned(),
        };
        let ordered = self.store.order(id, Order::Replace { entry: Box::new(entry), lease }).await?;
        Ok(deed(id, ordered, &format!("{changes} by the present rules, {then}")))
    }
}

fn prepare(
    door: &Intake,
    account: &Account,
    details: &Details,
    message: Message,
) -> (Story, Result<Accepted, crate::intake::Refusal>) {
    let summary = &account.summary;
    let pending = account.recipients.iter().filter(|one| one.settled.is_none());
    let envelope = Envelope {
        sender: summary.sender.clone(),
        recipients: pending.clone().map(|one| one.address.clone()).collect(),
        dsn: account.dsn.clone(),
        asked: pending.map(|one| (&one.address, one.asked.clone())).collect(),
        smtputf8: details.smtputf8,
    };
    let message = Message { head: without_our_hop(&message.head, summary.id), rest: message.rest };
    let transaction = Transaction { id: summary.id, client: details.client.clone(), envelope, raw: message.to_bytes() };
    door.prepare(transaction, &summary.received.to_zoned_datetime(TimeZone::system()))
}

/// The header without the Received that the door put before it, if it did.
fn without_our_hop(head: &Bytes, id: Id) -> Bytes {
    let mut header = Header::parse(head);
    let first = header.positions().next();
    let ours = first.filter(|at| {
        let value = String::from_utf8_lossy(&header.unfolded(*at)).into_owned();
        header.name(*at) == Some("Received") && value.contains(&format!(" id {id};"))
    });
    if let Some(at) = ours {
        header.remove(at);
    }
    header.finish()
}

fn entry(accepted: Accepted, story: &Story, (account, details): (Account, Details)) -> Entry {
    let summary = account.summary;
    let changed = story.trace.count > 0;
    let details = details.renewed(&accepted, story);
    let before = account.before.or_else(|| changed.then(|| accepted.origin.head.clone()));
    let fresh = delivery::entry(accepted, &details);
    let begin = match (summary.state, fresh.begin) {
        (State::Held, Begin::Queued(_)) => Begin::Held(summary.reason),
        (State::Held, begin) | (_, begin @ Begin::Held(_)) => begin,
        _ => Begin::Queued(Timestamp::now()),
    };
    Entry { begin, before, received: summary.received, size: summary.size, ..fresh }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_hop_of_this_message_goes() {
        let id = Id::mint();
        let ours =
            format!("Received: from a ([192.0.2.1]) by relay.example.com\r\n\twith ESMTP id {id};\r\n Mon, 1\r\n");
        let others = format!("Received: from b by c with SMTP id {}; Mon, 1\r\nSubject: id {id};\r\n", Id::mint());
        let strip = |text: &str| without_our_hop(&Bytes::copy_from_slice(text.as_bytes()), id);
        assert_eq!(strip(&format!("{ours}{others}")), others);
        assert_eq!(strip(&others), others);
        assert_eq!(strip(&format!("Subject: x\r\n{ours}")), format!("Subject: x\r\n{ours}"));
        assert_eq!(strip(""), "");
    }
}
