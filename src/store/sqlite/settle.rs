//! What leases brought, and what operators want.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    mail::Id,
    store::{Begin, Entry, Order, Ordered, Settled, Settlement, State, StoreError, Then, Try},
};

use super::{
    put::{self, GONE, IN_ROW},
    row::{Column as _, millis, state, status},
};

/// What a change left behind for the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leftover {
    /// Whether the file of the body is not needed any more.
    pub(super) file: bool,
}

/// The message's row, as far as a change looks at it.
struct Head {
    seq: i64,
    state: State,
    lease: u64,
    body: i64,
}

fn head(connection: &Connection, id: Id) -> Result<Option<Head>, StoreError> {
    let mut select = connection.prepare_cached("SELECT seq, state, lease, body FROM message WHERE id = ?1")?;
    let found = select.query_row([id.octets()], |row| {
        Ok(Head {
            seq: row.get("seq")?,
            state: row.state("state")?,
            lease: row.number("lease")?,
            body: row.get("body")?,
        })
    });
    Ok(found.optional()?)
}

/// Commits what a lease brought.
pub(super) fn settle(connection: &Connection, settlement: &Settlement) -> Result<Leftover, StoreError> {
    let head = head(connection, settlement.id)?.ok_or(StoreError::Stale)?;
    if head.state != State::Leased || head.lease != settlement.lease {
        return Err(StoreError::Stale);
    }
    for one in &settlement.tries {
        attempt(connection, head.seq, one)?;
    }
    for (ordinal, settled) in &settlement.settled {
        fate(connection, (head.seq, *ordinal), settled)?;
    }
    let mut mark = connection.prepare_cached("UPDATE recipient SET reported = 1 WHERE seq = ?1 AND ordinal = ?2")?;
    for ordinal in &settlement.reported {
        mark.execute(params![head.seq, ordinal])?;
    }
    if settlement.noticed {
        connection.prepare_cached("UPDATE message SET noticed = 1 WHERE seq = ?1")?.execute([head.seq])?;
    }
    for report in &settlement.reports {
        put::put(connection, report, false)?;
    }
    let mut identity = connection.prepare_cached("INSERT OR REPLACE INTO identity (name, time) VALUES (?1, ?2)")?;
    for name in &settlement.identities {
        identity.execute(params![name, millis(settlement.time)])?;
    }
    end(connection, &head, settlement)
}

fn end(connection: &Connection, head: &Head, settlement: &Settlement) -> Result<Leftover, StoreError> {
    match &settlement.then {
        Then::Keep(until) => {
            connection
                .prepare_cached("UPDATE message SET time = ?2 WHERE seq = ?1")?
                .execute(params![head.seq, millis(*until)])?;
            Ok(Leftover::default())
        }
        Then::Wait { due, reason, counted } => {
            let open = connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM recipient WHERE seq = ?1 AND status = 0)")?
                .query_row([head.seq], |row| row.get::<_, bool>(0))?;
            if !open {
                return finish(connection, head, (settlement.time, *counted));
            }
            connection
                .prepare_cached(
                    "UPDATE message SET state = ?2, time = ?3, rounds = rounds + ?5, reason = ?4 WHERE seq = ?1",
                )?
                .execute(params![head.seq, state(State::Queued), millis(*due), reason, counted])?;
            Ok(Leftover::default())
        }
    }
}

fn finish(connection: &Connection, head: &Head, (time, counted): (Timestamp, bool)) -> Result<Leftover, StoreError> {
    connection
        .prepare_cached(
            "UPDATE message SET state = ?2, route = '', time = ?3, rounds = rounds + ?5, body = ?4 WHERE seq = ?1",
        )?
        .execute(params![head.seq, state(State::Finished), millis(time), GONE, counted])?;
    connection.prepare_cached("DELETE FROM body WHERE seq = ?1")?.execute([head.seq])?;
    Ok(Leftover { file: head.body > IN_ROW })
}

fn fate(connection: &Connection, (seq, ordinal): (i64, u32), settled: &Settled) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE recipient SET status = ?3, reply = ?4, cause = ?5, upstream = ?6, remote = ?7, time = ?8
             WHERE seq = ?1 AND ordinal = ?2",
        )?
        .execute(params![
            seq,
            ordinal,
            status(settled.status),
            settled.reply,
            settled.cause,
            settled.upstream,
            settled.remote_id,
            millis(settled.time),
        ])?;
    Ok(())
}

/// Records an attempt.
pub(super) fn attempt(connection: &Connection, seq: i64, one: &Try) -> Result<(), StoreError> {
    let numbers: Vec<String> = one.recipients.iter().map(u32::to_string).collect();
    connection
        .prepare_cached(
            "INSERT INTO attempt (seq, number, upstream, began, ended, outcome, ambiguous, reply, cause, remote, recipients)
             VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE seq = ?1),
                     ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            seq,
            one.upstream,
            millis(one.began),
            millis(one.ended),
            one.outcome,
            one.ambiguous,
            one.reply,
            one.cause,
            one.remote_id,
            numbers.join(","),
        ])?;
    Ok(())
}

/// Does what an operator wants.
pub(super) fn order(connection: &Connection, id: Id, order: &Order) -> Result<(Ordered, Leftover), StoreError> {
    let mut leftover = Leftover::default();
    let Some(head) = head(connection, id)? else { return Ok((Ordered::Unknown, leftover)) };
    match head.state {
        State::Leased => return Ok((Ordered::Leased, leftover)),
        State::Finished => return Ok((Ordered::Finished, leftover)),
        State::Queued | State::Held => {}
    }
    match order {
        Order::Retry(_) if head.state == State::Held => return Ok((Ordered::Held, leftover)),
        Order::Retry(due) => {
            connection
                .prepare_cached("UPDATE message SET time = ?2 WHERE seq = ?1")?
                .execute(params![head.seq, millis(*due)])?;
        }
        Order::Release(_) if head.state == State::Queued => return Ok((Ordered::Queued, leftover)),
        Order::Release(due) => place(connection, &head, (State::Queued, Some(*due), ""))?,
        Order::Hold(reason) => place(connection, &head, (State::Held, None, reason))?,
        Order::Delete(time) => {
            let pending = "SELECT ordinal FROM recipient WHERE seq = ?1 AND status = 0";
            let mut pending = connection.prepare_cached(pending)?;
            let ordinals = pending.query_map([head.seq], |row| row.get(0))?.collect::<Result<Vec<u32>, _>>()?;
            for ordinal in ordinals {
                fate(connection, (head.seq, ordinal), &Settled::removed(*time))?;
            }
            leftover = finish(connection, &head, (*time, false))?;
        }
        Order::Replace { lease, .. } if head.lease != *lease => return Ok((Ordered::Changed, leftover)),
        Order::Replace { entry, .. } => leftover = replace(connection, &head, entry)?,
    }
    Ok((Ordered::Done, leftover))
}

fn place(
    connection: &Connection,
    head: &Head,
    (next, time, reason): (State, Option<Timestamp>, &str),
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE message SET state = ?2, time = ?3, reason = ?4 WHERE seq = ?1")?
        .execute(params![head.seq, state(next), time.map(millis), reason])?;
    Ok(())
}

/// Puts an entry in the place of what is not settled of a message. The settled recipients and the attempts stay. The body
/// goes into a row whatever its size: a file of the same name could not be durable before the commit and undone with it.
fn replace(connection: &Connection, head: &Head, entry: &Entry) -> Result<Leftover, StoreError> {
    let seq = head.seq;
    connection.prepare_cached("DELETE FROM recipient WHERE seq = ?1 AND status = 0")?.execute([seq])?;
    let next = connection
        .prepare_cached("SELECT coalesce(max(ordinal) + 1, 0) FROM recipient WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    put::recipients(connection, seq, next, &entry.recipients)?;
    connection
        .prepare_cached("UPDATE header SET before = ?2, after = ?3, details = ?4 WHERE seq = ?1")?
        .execute(params![seq, entry.before.as_deref(), &entry.message.head[..], entry.details])?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO body (seq, octets) VALUES (?1, ?2)")?
        .execute(params![seq, &entry.message.rest[..]])?;
    match &entry.begin {
        Begin::Queued(due) | Begin::Leased(due) => place(connection, head, (State::Queued, Some(*due), ""))?,
        Begin::Held(reason) => place(connection, head, (State::Held, None, reason))?,
    }
    connection
        .prepare_cached(
            "UPDATE message SET route = ?2, sender = ?3, user = ?4, body = ?5, ret = ?6, envid = ?7 WHERE seq = ?1",
        )?
        .execute(params![
            seq,
            entry.route.as_deref().unwrap_or_default(),
            entry.sender.to_string(),
            entry.user,
            IN_ROW,
            entry.dsn.ret.map(String::from),
            entry.dsn.envelope_id,
        ])?;
    Ok(Leftover { file: head.body > IN_ROW })
}

/// Removes up to `count` messages that were finished before that time; how many went.
pub(super) fn sweep(connection: &Connection, before: Timestamp, count: i64) -> Result<usize, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT seq FROM message WHERE state = ?1 AND route = '' AND time < ?2 ORDER BY time LIMIT ?3",
    )?;
    let rows = select.query_map(params![state(State::Finished), millis(before), count], |row| row.get(0))?;
    let old = rows.collect::<Result<Vec<i64>, _>>()?;
    for table in ["recipient", "attempt", "header", "message"] {
        let mut delete = connection.prepare_cached(&format!("DELETE FROM {table} WHERE seq = ?1"))?;
        for seq in &old {
            delete.execute([seq])?;
        }
    }
    Ok(old.len())
}
