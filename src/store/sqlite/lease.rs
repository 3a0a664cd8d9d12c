//! Leases: who gets what to deliver, and what becomes of the leases that nobody came back with.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::store::{Ask, BATCH, Failure, INTERRUPTED, Lease, Overdue, Pending, State, StoreError, Try};

use super::{
    row::{Column as _, Result, millis, sender, settled, state},
    settle,
};

/// Leases messages that are due, the longest due first.
pub(super) fn lease(connection: &Connection, ask: &Ask) -> std::result::Result<Vec<Lease>, StoreError> {
    let due = match &ask.overdue {
        Some(overdue) => find_overdue(connection, ask, overdue)?,
        None => find_due(connection, ask)?,
    };
    due.into_iter().map(|(_, seq)| grant(connection, seq, ask.until)).collect()
}

/// Time and row of what the upstreams take that are ready, the longest due first.
fn find_due(connection: &Connection, ask: &Ask) -> std::result::Result<Vec<(i64, i64)>, StoreError> {
    let mut due = Vec::new();
    let mut select = connection.prepare_cached(
        "SELECT time, seq FROM message WHERE state = ?1 AND route = ?2 AND time <= ?3 ORDER BY time, seq LIMIT ?4",
    )?;
    let count = i64::try_from(ask.count).unwrap_or(i64::MAX);
    for route in ask.any.then_some("").into_iter().chain(ask.routes.iter().map(String::as_str)) {
        let parameters = params![state(State::Queued), route, millis(ask.now), count];
        let rows = select.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let place: (i64, i64) = row?;
            due.push(place);
        }
    }
    due.sort_unstable();
    due.truncate(ask.count);
    Ok(due)
}

/// Time and row of what is overdue.
fn find_overdue(
    connection: &Connection,
    ask: &Ask,
    overdue: &Overdue,
) -> std::result::Result<Vec<(i64, i64)>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT time, seq FROM message WHERE state = ?1 AND time <= ?2
         AND (received < ?3 OR (noticed = 0 AND received < ?4)) ORDER BY time, seq LIMIT ?5",
    )?;
    let count = i64::try_from(ask.count).unwrap_or(i64::MAX);
    let notice = overdue.notice.map_or(i64::MIN, millis);
    let parameters = params![state(State::Queued), millis(ask.now), millis(overdue.expire), notice, count];
    Ok(select.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>>>()?)
}

fn grant(connection: &Connection, seq: i64, until: Timestamp) -> std::result::Result<Lease, StoreError> {
    connection
        .prepare_cached("UPDATE message SET state = ?2, time = ?3, lease = lease + 1 WHERE seq = ?1")?
        .execute(params![seq, state(State::Leased), millis(until)])?;
    let mut lease = connection
        .prepare_cached(
            "SELECT id, lease, sender, rounds, noticed, received, size, details
             FROM message JOIN header USING (seq) WHERE message.seq = ?1",
        )?
        .query_row([seq], bare)?;
    let mut select = connection
        .prepare_cached("SELECT * FROM recipient WHERE seq = ?1 AND (status = 0 OR reported = 0) ORDER BY ordinal")?;
    let mut rows = select.query([seq])?;
    while let Some(row) = rows.next()? {
        let (ordinal, address) = (row.number("ordinal")?, row.address("address")?);
        match settled(row)? {
            None => lease.pending.push(Pending { ordinal, address, upstream: row.get("wish")? }),
            Some(settled) if settled.status.is_failure() => {
                lease.unreported.push(Failure { ordinal, address, settled });
            }
            Some(_) => {}
        }
    }
    Ok(lease)
}

/// A lease without its recipients.
fn bare(row: &Row<'_>) -> Result<Lease> {
    Ok(Lease {
        id: row.id("id")?,
        number: row.number("lease")?,
        sender: sender(row)?,
        pending: Vec::new(),
        unreported: Vec::new(),
        rounds: row.number("rounds")?,
        noticed: row.get("noticed")?,
        received: row.time("received")?.unwrap_or(Timestamp::UNIX_EPOCH),
        size: row.number("size")?,
        details: row.get("details")?,
    })
}

/// When the next queued message is due.
pub(super) fn next_due(connection: &Connection) -> std::result::Result<Option<Timestamp>, StoreError> {
    let mut routes = connection.prepare_cached("SELECT DISTINCT route FROM message WHERE state = ?1")?;
    let mut first =
        connection.prepare_cached("SELECT time FROM message WHERE state = ?1 AND route = ?2 ORDER BY time LIMIT 1")?;
    let mut next = None;
    for route in routes.query_map([state(State::Queued)], |row| row.get::<_, String>(0))? {
        let due = first.query_row(params![state(State::Queued), route?], |row| row.time("time")).optional()?.flatten();
        next = [next, due].into_iter().flatten().min();
    }
    Ok(next)
}

/// Makes messages queued again whose lease ended before that time; how many.
pub(super) fn recover(
    connection: &Connection,
    ended: Timestamp,
    now: Timestamp,
) -> std::result::Result<usize, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT seq FROM message WHERE state = ?1 AND time < ?2 ORDER BY seq")?;
    let rows = select.query_map(params![state(State::Leased), millis(ended)], |row| row.get(0))?;
    let lost = rows.collect::<Result<Vec<i64>>>()?;
    for seq in &lost {
        let mut batch = connection
            .prepare_cached("SELECT ordinal FROM recipient WHERE seq = ?1 AND status = 0 ORDER BY ordinal LIMIT ?2")?;
        let batch = batch
            .query_map(params![seq, i64::try_from(BATCH).unwrap_or(i64::MAX)], |row| row.get(0))?
            .collect::<Result<Vec<u32>>>()?;
        settle::attempt(connection, *seq, &Try::interrupted(now, batch))?;
        connection
            .prepare_cached("UPDATE message SET state = ?2, time = ?3, lease = lease + 1, reason = ?4 WHERE seq = ?1")?
            .execute(params![seq, state(State::Queued), millis(now), INTERRUPTED])?;
    }
    Ok(lost.len())
}
