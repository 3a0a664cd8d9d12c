//! Leases: who gets what to deliver, and what becomes of the leases that nobody came back with.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::store::{Ask, BATCH, Fated, INTERRUPTED, Lease, Overdue, Pending, State, StoreError, Try};

use super::{
    row::{Column as _, Result, asked, dsn, millis, sender, settled, state},
    settle,
};

/// What is due on one route.
const DUE: &str =
    "SELECT time, seq FROM message WHERE state = ?1 AND route = ?2 AND time <= ?3 ORDER BY time, seq LIMIT ?4";
/// What waits since before a time, of those whose sender had notice or of the others. The state is written out because
/// the index has only the queued.
const OVERDUE: &str = "SELECT time, seq FROM message
    WHERE state = 0 AND noticed = ?1 AND received < ?2 AND time <= ?3 ORDER BY received, seq LIMIT ?4";
/// When the first of one route is due.
const FIRST: &str = "SELECT time FROM message WHERE state = ?1 AND route = ?2 ORDER BY time LIMIT 1";
/// The route behind another, and when its first is due: asked again and again it goes through the routes without looking
/// at each message, as a DISTINCT would.
const NEXT_ROUTE: &str = "SELECT route, time FROM message WHERE state = ?1 AND route > ?2 ORDER BY route, time LIMIT 1";

/// What the holder of a lease has to know.
const GRANTED: &str = "SELECT id, lease, sender, ret, envid, rounds, noticed, received, size, details
    FROM message JOIN header USING (seq) WHERE message.seq = ?1";
/// The recipients that the holder of a lease has to do with.
const PENDING: &str = "SELECT * FROM recipient WHERE seq = ?1 AND (status = 0 OR reported = 0) ORDER BY ordinal";

/// Leases messages that are due, the longest due first; of the overdue, those that were taken first.
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
    let mut select = connection.prepare_cached(DUE)?;
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
    let mut select = connection.prepare_cached(OVERDUE)?;
    let expire = millis(overdue.expire);
    let notice = overdue.notice.map_or(expire, |notice| expire.max(millis(notice)));
    let mut found = Vec::new();
    for (noticed, before) in [(true, expire), (false, notice)] {
        let left = i64::try_from(ask.count.saturating_sub(found.len())).unwrap_or(i64::MAX);
        let rows =
            select.query_map(params![noticed, before, millis(ask.now), left], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            found.push(row?);
        }
    }
    Ok(found)
}

fn grant(connection: &Connection, seq: i64, until: Timestamp) -> std::result::Result<Lease, StoreError> {
    connection
        .prepare_cached("UPDATE message SET state = ?2, time = ?3, lease = lease + 1 WHERE seq = ?1")?
        .execute(params![seq, state(State::Leased), millis(until)])?;
    let mut lease = connection.prepare_cached(GRANTED)?.query_row([seq], bare)?;
    let mut select = connection.prepare_cached(PENDING)?;
    let mut rows = select.query([seq])?;
    while let Some(row) = rows.next()? {
        let (ordinal, address, asked) = (row.number("ordinal")?, row.address("address")?, asked(row)?);
        match settled(row)? {
            None => lease.pending.push(Pending { ordinal, address, upstream: row.get("wish")?, asked }),
            Some(settled) if settled.is_news(&asked) => {
                lease.unreported.push(Fated { ordinal, address, asked, settled });
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
        dsn: dsn(row)?,
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
    let queued = state(State::Queued);
    let mut first = connection.prepare_cached(FIRST)?;
    let mut next = first.query_row(params![queued, ""], |row| row.time("time")).optional()?.flatten();
    let mut behind = connection.prepare_cached(NEXT_ROUTE)?;
    let mut route = String::new();
    while let Some((named, due)) = behind
        .query_row(params![queued, route], |row| Ok((row.get::<_, String>("route")?, row.time("time")?)))
        .optional()?
    {
        route = named;
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

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::store::{
        contract::{ask, at},
        sqlite::schema,
    };

    /// Queued messages, some of them on routes of their own, and as many that are finished.
    fn queue(messages: i64) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::bring_up(&mut connection, "memory").unwrap();
        let fill = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
            INSERT INTO message (id, state, route, time, lease, received, size, sender, body)
            SELECT randomblob(16), ?2, CASE i % 50 WHEN 7 THEN 'b' WHEN 8 THEN 'c' ELSE '' END, ?3 + 1000 * (100 + i), 0,
                   ?3 + 1000 * i, 1, 'a@example.com', 0 FROM n";
        for one in [State::Queued, State::Finished] {
            connection.execute(fill, params![messages, state(one), millis(at(0))]).unwrap();
        }
        let rest = "INSERT INTO header (seq, after, details) SELECT seq, x'', '' FROM message;
            INSERT INTO recipient (seq, ordinal, address) SELECT seq, 0, 'b@example.com' FROM message;";
        connection.execute_batch(rest).unwrap();
        connection
    }

    /// How SQLite means to go about a statement.
    fn plan(connection: &Connection, statement: &str) -> Vec<String> {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let nothing = vec![0; explain.parameter_count()];
        let lines = explain.query_map(rusqlite::params_from_iter(nothing), |row| row.get("detail")).unwrap();
        lines.map(Result::unwrap).collect()
    }

    /// What SQLite has done for a statement so far.
    fn steps(connection: &Connection, statement: &str) -> i32 {
        connection.prepare_cached(statement).unwrap().get_status(StatementStatus::VmStep)
    }

    #[test]
    fn the_schedule_is_read_from_indexes_without_a_scan_or_a_sort() {
        let connection = queue(10);
        for statement in [DUE, OVERDUE, FIRST, NEXT_ROUTE, GRANTED, PENDING] {
            let plan = plan(&connection, statement);
            assert!(!plan.is_empty());
            for line in &plan {
                assert!(line.starts_with("SEARCH ") && line.contains(" USING "), "{statement}: {plan:?}");
            }
        }
    }

    #[test]
    fn a_long_queue_costs_no_more_than_a_short_one() {
        let cost = |messages: i64| {
            let connection = queue(messages);
            let mut due = ask(130, 5);
            due.routes = vec!["b".to_owned(), "c".to_owned()];
            assert_eq!(lease(&connection, &due).unwrap().len(), 5);
            let overdue = Overdue { expire: at(10), notice: Some(at(50)) };
            assert_eq!(lease(&connection, &Ask { overdue: Some(overdue), ..due }).unwrap().len(), 5);
            assert_eq!(next_due(&connection).unwrap(), Some(at(110)));
            [DUE, OVERDUE, FIRST, NEXT_ROUTE, GRANTED, PENDING].map(|statement| steps(&connection, statement))
        };
        let (short, long) = (cost(200), cost(20_000));
        assert!(short.iter().all(|steps| *steps > 0), "{short:?}");
        assert_eq!(short, long);
    }
}
