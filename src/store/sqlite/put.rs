//! New messages.

use rusqlite::{Connection, ErrorCode, params};

use crate::store::{Begin, Entry, Place, State, StoreError};

use super::row::{millis, state};

/// The column `body`: none any more, in a row, in a file of that many octets.
pub(super) const GONE: i64 = 0;
pub(super) const IN_ROW: i64 = 1;

/// Writes the rows of a message whose large body, if it has one, is in its file already.
pub(super) fn put(connection: &Connection, entry: &Entry, in_file: bool) -> Result<(), StoreError> {
    let (begins, time, reason) = match &entry.begin {
        Begin::Queued(due) => (State::Queued, Some(millis(*due)), ""),
        Begin::Leased(until) => (State::Leased, Some(millis(*until)), ""),
        Begin::Held(reason) => (State::Held, None, reason.as_str()),
    };
    let inserted = connection
        .prepare_cached(
            "INSERT INTO message (id, state, route, time, lease, received, size, sender, user, reason, body, ret, envid)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .insert(params![
            entry.id.octets(),
            state(begins),
            entry.route.as_deref().unwrap_or_default(),
            time,
            i64::from(begins == State::Leased),
            millis(entry.received),
            i64::try_from(entry.size).unwrap_or(i64::MAX),
            entry.sender.to_string(),
            entry.user,
            reason,
            body_column(entry, in_file),
            entry.dsn.ret.map(String::from),
            entry.dsn.envelope_id,
        ]);
    let seq = inserted.map_err(|error| match error {
        rusqlite::Error::SqliteFailure(failure, _) if failure.code == ErrorCode::ConstraintViolation => {
            StoreError::Duplicate
        }
        other => other.into(),
    })?;
    connection
        .prepare_cached("INSERT INTO header (seq, before, after, details) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![seq, entry.before.as_deref(), &entry.message.head[..], entry.details])?;
    if !in_file {
        connection
            .prepare_cached("INSERT INTO body (seq, octets) VALUES (?1, ?2)")?
            .execute(params![seq, &entry.message.rest[..]])?;
    }
    recipients(connection, seq, 0, &entry.recipients)
}

/// Writes rows of recipients, numbered from `first` on.
pub(super) fn recipients(connection: &Connection, seq: i64, first: u32, places: &[Place]) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO recipient (seq, ordinal, address, wish, notify, orcpt) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (ordinal, place) in (first..).zip(places) {
        let Place { address, upstream, asked } = place;
        let notify = asked.notify.map(String::from);
        insert.execute(params![seq, ordinal, address.to_string(), upstream, notify, asked.original])?;
    }
    Ok(())
}

/// What the column `body` says of an entry.
pub(super) fn body_column(entry: &Entry, in_file: bool) -> i64 {
    let octets = i64::try_from(entry.message.rest.len()).unwrap_or(i64::MAX);
    if in_file { octets.max(IN_ROW + 1) } else { IN_ROW }
}
