//! The store in memory: for tests, and to say in few lines what the others do.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use jiff::Timestamp;

use crate::mail::{Address, Dsn, Id, Message, Sender, Soon};

use super::{
    Account, Ask, Begin, Counts, Entry, Fated, Filter, Lease, Order, Ordered, Pending, RecipientView, Settlement,
    State, Store, StoreError, Summary, Then, Try,
};

/// Keeps everything in one map; nothing is durable.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    messages: BTreeMap<Id, Row>,
    identities: HashMap<String, Timestamp>,
}

#[derive(Debug)]
struct Row {
    state: State,
    when: Option<Timestamp>,
    lease: u64,
    rounds: u32,
    noticed: bool,
    reason: String,
    sender: Sender,
    dsn: Dsn,
    user: Option<String>,
    route: Option<String>,
    recipients: Vec<RecipientView>,
    message: Option<Message>,
    before: Option<Bytes>,
    after: Bytes,
    details: String,
    received: Timestamp,
    size: u64,
    tries: Vec<Try>,
}

impl Row {
    fn new(entry: Entry) -> Self {
        let (state, when, reason) = match entry.begin {
            Begin::Queued(due) => (State::Queued, Some(due), String::new()),
            Begin::Leased(until) => (State::Leased, Some(until), String::new()),
            Begin::Held(reason) => (State::Held, None, reason),
        };
        let recipient = |(ordinal, place): (u32, super::Place)| RecipientView {
            ordinal,
            address: place.address,
            upstream: place.upstream,
            asked: place.asked,
            settled: None,
            reported: false,
        };
        Self {
            state,
            when,
            lease: u64::from(state == State::Leased),
            rounds: 0,
            noticed: false,
            reason,
            sender: entry.sender,
            dsn: entry.dsn,
            user: entry.user,
            route: entry.route,
            recipients: (0..).zip(entry.recipients).map(recipient).collect(),
            after: entry.message.head.clone(),
            message: Some(entry.message),
            before: entry.before,
            details: entry.details,
            received: entry.received,
            size: entry.size,
            tries: Vec::new(),
        }
    }

    fn pending(&self) -> impl Iterator<Item = &RecipientView> {
        self.recipients.iter().filter(|one| one.settled.is_none())
    }

    fn lease(&mut self, id: Id, until: Timestamp) -> Lease {
        (self.state, self.when) = (State::Leased, Some(until));
        self.lease += 1;
        let pending = |one: &RecipientView| Pending {
            ordinal: one.ordinal,
            address: one.address.clone(),
            upstream: one.upstream.clone(),
            asked: one.asked.clone(),
        };
        let fated = |one: &RecipientView| {
            let settled = one.settled.clone().filter(|settled| settled.is_news(&one.asked) && !one.reported)?;
            Some(Fated { ordinal: one.ordinal, address: one.address.clone(), asked: one.asked.clone(), settled })
        };
        Lease {
            id,
            number: self.lease,
            sender: self.sender.clone(),
            dsn: self.dsn.clone(),
            pending: self.pending().map(pending).collect(),
            unreported: self.recipients.iter().filter_map(fated).collect(),
            rounds: self.rounds,
            noticed: self.noticed,
            received: self.received,
            size: self.size,
            details: self.details.clone(),
        }
    }

    fn finish(&mut self, time: Timestamp) {
        (self.state, self.when, self.message) = (State::Finished, Some(time), None);
    }

    fn settle(&mut self, settlement: Settlement) {
        self.tries.extend(settlement.tries);
        for (ordinal, settled) in settlement.settled {
            if let Some(one) = self.recipients.iter_mut().find(|one| one.ordinal == ordinal) {
                one.settled = Some(settled);
            }
        }
        for one in self.recipients.iter_mut().filter(|one| settlement.reported.contains(&one.ordinal)) {
            one.reported = true;
        }
        self.noticed |= settlement.noticed;
        match settlement.then {
            Then::Keep(until) => self.when = Some(until),
            Then::Wait { due, reason, counted } => {
                self.rounds += u32::from(counted);
                if self.pending().next().is_none() {
                    self.finish(settlement.time);
                } else {
                    (self.state, self.when, self.reason) = (State::Queued, Some(due), reason);
                }
            }
        }
    }

    fn delete(&mut self, time: Timestamp) {
        for one in self.recipients.iter_mut().filter(|one| one.settled.is_none()) {
            one.settled = Some(super::Settled::removed(time));
        }
        self.finish(time);
    }

    fn replace(&mut self, entry: Entry) {
        let settled: Vec<RecipientView> = self.recipients.drain(..).filter(|one| one.settled.is_some()).collect();
        let next = settled.iter().map(|one| one.ordinal + 1).max().unwrap_or(0);
        let mut row = Self::new(entry);
        for (ordinal, one) in (next..).zip(&mut row.recipients) {
            one.ordinal = ordinal;
        }
        row.recipients.splice(0..0, settled);
        (row.lease, row.rounds, row.noticed) = (self.lease, self.rounds, self.noticed);
        (row.received, row.size) = (self.received, self.size);
        row.tries = std::mem::take(&mut self.tries);
        *self = row;
    }

    fn summary(&self, id: Id) -> Summary {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Summary {
            id,
            state: self.state,
            when: self.when,
            sender: self.sender.clone(),
            user: self.user.clone(),
            recipients: (count(self.recipients.len()), count(self.pending().count())),
            first: self.recipients.first().map(|one| one.address.clone()),
            received: self.received,
            lease: self.lease,
            rounds: self.rounds,
            size: self.size,
            reason: self.reason.clone(),
        }
    }

    fn is_wanted(&self, filter: &Filter) -> bool {
        let same = |address: &Address, text: &str| address.to_string().eq_ignore_ascii_case(text);
        let sender = |text: &String| self.sender.to_string().eq_ignore_ascii_case(text);
        let recipient = |text: &String| self.recipients.iter().any(|one| same(&one.address, text));
        (filter.states.is_empty() || filter.states.contains(&self.state))
            && filter.sender.as_ref().is_none_or(sender)
            && filter.user.as_ref().is_none_or(|user| self.user.as_ref() == Some(user))
            && filter.recipient.as_ref().is_none_or(recipient)
            && filter.before.is_none_or(|before| self.received < before)
            && filter.since.is_none_or(|since| self.received >= since)
    }
}

impl Memory {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn soon<'a, T: Send + 'a>(value: T) -> Soon<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Inside {
    fn put(&mut self, entry: Entry) -> Result<(), StoreError> {
        if self.messages.contains_key(&entry.id) {
            return Err(StoreError::Duplicate);
        }
        self.messages.insert(entry.id, Row::new(entry));
        Ok(())
    }

    fn lease(&mut self, ask: &Ask) -> Vec<Lease> {
        let takes = |row: &Row| row.route.as_ref().map_or(ask.any, |route| ask.routes.contains(route));
        let due = |row: &Row| row.state == State::Queued && row.when.is_some_and(|when| when <= ask.now);
        let wanted = |row: &Row| match ask.overdue {
            None => takes(row),
            Some(overdue) => {
                let late = overdue.notice.is_some_and(|notice| row.received < notice && !row.noticed);
                row.received < overdue.expire || late
            }
        };
        let mut found: Vec<(Timestamp, Id)> = self
            .messages
            .iter()
            .filter(|(_, row)| due(row) && wanted(row))
            .filter_map(|(id, row)| Some((row.when?, *id)))
            .collect();
        found.sort();
        let ids = found.into_iter().take(ask.count).map(|(_, id)| id);
        ids.filter_map(|id| Some(self.messages.get_mut(&id)?.lease(id, ask.until))).collect()
    }

    fn settle(&mut self, mut settlement: Settlement) -> Result<(), StoreError> {
        let row = self.messages.get(&settlement.id).ok_or(StoreError::Stale)?;
        if row.state != State::Leased || row.lease != settlement.lease {
            return Err(StoreError::Stale);
        }
        if settlement.reports.iter().any(|report| self.messages.contains_key(&report.id)) {
            return Err(StoreError::Duplicate);
        }
        for report in settlement.reports.drain(..) {
            self.put(report)?;
        }
        for identity in settlement.identities.drain(..) {
            self.identities.insert(identity, settlement.time);
        }
        if let Some(row) = self.messages.get_mut(&settlement.id) {
            row.settle(settlement);
        }
        Ok(())
    }

    fn recover(&mut self, ended: Timestamp, now: Timestamp) -> usize {
        let lost = |row: &&mut Row| row.state == State::Leased && row.when.is_some_and(|when| when < ended);
        let rows = self.messages.values_mut().filter(lost);
        rows.map(|row| {
            let batch = row.pending().take(super::BATCH).map(|one| one.ordinal).collect();
            row.tries.push(Try::interrupted(now, batch));
            (row.state, row.when, row.reason) = (State::Queued, Some(now), super::INTERRUPTED.to_owned());
            row.lease += 1;
        })
        .count()
    }

    fn order(&mut self, id: Id, order: Order) -> Ordered {
        let Some(row) = self.messages.get_mut(&id) else { return Ordered::Unknown };
        match row.state {
            State::Leased => return Ordered::Leased,
            State::Finished => return Ordered::Finished,
            State::Queued | State::Held => {}
        }
        match order {
            Order::Retry(_) if row.state == State::Held => return Ordered::Held,
            Order::Retry(due) => row.when = Some(due),
            Order::Release(_) if row.state == State::Queued => return Ordered::Queued,
            Order::Release(due) => (row.state, row.when, row.reason) = (State::Queued, Some(due), String::new()),
            Order::Hold(reason) => (row.state, row.when, row.reason) = (State::Held, None, reason),
            Order::Delete(time) => row.delete(time),
            Order::Replace { lease, .. } if row.lease != lease => return Ordered::Changed,
            Order::Replace { entry, .. } => row.replace(*entry),
        }
        Ordered::Done
    }

    fn list(&self, filter: &Filter) -> Vec<Summary> {
        let rows = self.messages.iter().rev();
        let rows = rows.filter(|(id, row)| filter.behind.is_none_or(|last| **id < last) && row.is_wanted(filter));
        rows.take(filter.count).map(|(id, row)| row.summary(*id)).collect()
    }

    fn show(&self, id: Id) -> Option<Account> {
        let row = self.messages.get(&id)?;
        Some(Account {
            summary: row.summary(id),
            dsn: row.dsn.clone(),
            recipients: row.recipients.clone(),
            tries: (1..).zip(row.tries.iter().cloned()).collect(),
            before: row.before.clone(),
            after: row.after.clone(),
            details: row.details.clone(),
        })
    }

    fn counts(&self) -> Counts {
        let count = |state: State| self.messages.values().filter(|row| row.state == state).count() as u64;
        let live = self.messages.values().filter(|row| row.state != State::Finished);
        let octets = |row: &Row| (row.after.len() + row.message.as_ref().map_or(0, |one| one.rest.len())) as u64;
        Counts {
            queued: count(State::Queued),
            leased: count(State::Leased),
            held: count(State::Held),
            oldest: live.map(|row| row.received).min(),
            octets: self.messages.values().map(octets).sum(),
        }
    }

    fn sweep(&mut self, before: Timestamp) -> usize {
        let all = self.messages.len();
        let gone = |row: &Row| row.state == State::Finished && row.when.is_some_and(|when| when < before);
        self.messages.retain(|_, row| !gone(row));
        all - self.messages.len()
    }
}

impl Store for Memory {
    fn put(&self, entry: Entry) -> Soon<'_, Result<(), StoreError>> {
        soon(self.inside().put(entry))
    }

    fn lease(&self, ask: Ask) -> Soon<'_, Result<Vec<Lease>, StoreError>> {
        soon(Ok(self.inside().lease(&ask)))
    }

    fn message(&self, id: Id) -> Soon<'_, Result<Option<Message>, StoreError>> {
        soon(Ok(self.inside().messages.get(&id).and_then(|row| row.message.clone())))
    }

    fn settle(&self, settlement: Settlement) -> Soon<'_, Result<(), StoreError>> {
        soon(self.inside().settle(settlement))
    }

    fn recover(&self, ended: Timestamp, now: Timestamp) -> Soon<'_, Result<usize, StoreError>> {
        soon(Ok(self.inside().recover(ended, now)))
    }

    fn next_due(&self) -> Soon<'_, Result<Option<Timestamp>, StoreError>> {
        let inside = self.inside();
        let queued = inside.messages.values().filter(|row| row.state == State::Queued);
        soon(Ok(queued.filter_map(|row| row.when).min()))
    }

    fn order(&self, id: Id, order: Order) -> Soon<'_, Result<Ordered, StoreError>> {
        soon(Ok(self.inside().order(id, order)))
    }

    fn list(&self, filter: Filter) -> Soon<'_, Result<Vec<Summary>, StoreError>> {
        soon(Ok(self.inside().list(&filter)))
    }

    fn show(&self, id: Id) -> Soon<'_, Result<Option<Account>, StoreError>> {
        soon(Ok(self.inside().show(id)))
    }

    fn counts(&self) -> Soon<'_, Result<Counts, StoreError>> {
        soon(Ok(self.inside().counts()))
    }

    fn identity(&self, name: &str) -> Soon<'_, Result<Option<Timestamp>, StoreError>> {
        soon(Ok(self.inside().identities.get(name).copied()))
    }

    fn sweep(&self, before: Timestamp) -> Soon<'_, Result<usize, StoreError>> {
        soon(Ok(self.inside().sweep(before)))
    }
}
