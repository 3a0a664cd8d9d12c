//! Views: they read on connections of their own and never wait for the writer.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};

use crate::{
    mail::{Id, Message},
    store::{Account, Counts, Filter, RecipientView, State, StoreError, Summary, Try, TryView},
};

use super::{
    bodies::Bodies,
    put::{GONE, IN_ROW},
    row::{Column as _, Result, asked, dsn, millis, sender, settled, state},
};

/// What a summary is made of.
const SUMMARY: &str = "SELECT message.*,
    (SELECT count(*) FROM recipient WHERE recipient.seq = message.seq) AS recipients,
    (SELECT count(*) FROM recipient WHERE recipient.seq = message.seq AND status = 0) AS pending,
    (SELECT address FROM recipient WHERE recipient.seq = message.seq ORDER BY ordinal LIMIT 1) AS first
    FROM message";

/// The message of an unfinished entry.
pub(super) fn message(
    connection: &Connection,
    bodies: &Bodies,
    id: Id,
) -> std::result::Result<Option<Message>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT body, after, octets FROM message JOIN header USING (seq) LEFT JOIN body USING (seq) WHERE id = ?1",
        )?
        .query_row([id.octets()], |row| {
            Ok((row.get::<_, i64>("body")?, row.get::<_, Vec<u8>>("after")?, row.get::<_, Option<Vec<u8>>>("octets")?))
        })
        .optional()?;
    let Some((body, head, octets)) = found else { return Ok(None) };
    let rest = match body {
        GONE => return Ok(None),
        IN_ROW => octets.ok_or_else(|| StoreError::Corrupt(format!("the body of {id} is not there")))?.into(),
        _ => bodies.read(id)?,
    };
    Ok(Some(Message { head: head.into(), rest }))
}

/// Whether a row names the file of that body.
pub(super) fn names_file(connection: &Connection, id: Id) -> std::result::Result<bool, StoreError> {
    let mut select = connection.prepare_cached("SELECT body FROM message WHERE id = ?1")?;
    let body: Option<i64> = select.query_row([id.octets()], |row| row.get(0)).optional()?;
    Ok(body.is_some_and(|body| body > IN_ROW))
}

fn summary(row: &Row<'_>) -> Result<Summary> {
    Ok(Summary {
        id: row.id("id")?,
        state: row.state("state")?,
        when: row.time("time")?,
        sender: sender(row)?,
        user: row.get("user")?,
        recipients: (row.number("recipients")?, row.number("pending")?),
        first: row.get_ref("first")?.as_str_or_null()?.map(|_| row.address("first")).transpose()?,
        received: row.time("received")?.unwrap_or(Timestamp::UNIX_EPOCH),
        lease: row.number("lease")?,
        rounds: row.number("rounds")?,
        size: row.number("size")?,
        reason: row.get("reason")?,
    })
}

/// Messages, the newest first.
pub(super) fn list(connection: &Connection, filter: &Filter) -> std::result::Result<Vec<Summary>, StoreError> {
    let states: Vec<String> = filter.states.iter().map(|one| state(*one).to_string()).collect();
    let count = i64::try_from(filter.count).unwrap_or(i64::MAX);
    let (before, since) = (filter.before.map(millis), filter.since.map(millis));
    let behind = filter.behind.map(Id::octets);
    let mut conditions: Vec<String> = Vec::new();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let mut add = |condition: &str, value| {
        values.push(value);
        conditions.push(condition.replace('?', &format!("?{}", values.len())));
    };
    let wanted: [(&str, Option<&dyn ToSql>); 6] = [
        ("lower(sender) = lower(?)", filter.sender.as_ref().map(|one| one as &dyn ToSql)),
        ("user = ?", filter.user.as_ref().map(|one| one as &dyn ToSql)),
        (
            "EXISTS (SELECT 1 FROM recipient WHERE recipient.seq = message.seq AND lower(address) = lower(?))",
            filter.recipient.as_ref().map(|one| one as &dyn ToSql),
        ),
        ("received < ?", before.as_ref().map(|one| one as &dyn ToSql)),
        ("received >= ?", since.as_ref().map(|one| one as &dyn ToSql)),
        ("id < ?", behind.as_ref().map(|one| one as &dyn ToSql)),
    ];
    for (condition, value) in wanted {
        if let Some(value) = value {
            add(condition, value);
        }
    }
    if !states.is_empty() {
        // The plus keeps the index of states out of it: by that, each page would be sorted out of all that follow.
        conditions.push(format!("+state IN ({})", states.join(",")));
    }
    values.push(&count);
    let place = values.len();
    let filtered = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let text = format!("{SUMMARY} {filtered} ORDER BY id DESC LIMIT ?{place}");
    let mut select = connection.prepare_cached(&text)?;
    let rows = select.query_map(&values[..], summary)?;
    Ok(rows.collect::<Result<Vec<_>>>()?)
}

/// All that is known of a message.
pub(super) fn show(connection: &Connection, id: Id) -> std::result::Result<Option<Account>, StoreError> {
    let mut select = connection.prepare_cached(&format!("{SUMMARY} WHERE id = ?1"))?;
    let found =
        select.query_row([id.octets()], |row| Ok((row.get::<_, i64>("seq")?, summary(row)?, dsn(row)?))).optional()?;
    let Some((seq, summary, dsn)) = found else { return Ok(None) };
    let recipients = connection
        .prepare_cached("SELECT * FROM recipient WHERE seq = ?1 ORDER BY ordinal")?
        .query_map([seq], recipient)?
        .collect::<Result<Vec<_>>>()?;
    let tries = connection
        .prepare_cached("SELECT * FROM attempt WHERE seq = ?1 ORDER BY number")?
        .query_map([seq], attempt)?
        .collect::<Result<Vec<_>>>()?;
    let (before, after, details) = connection
        .prepare_cached("SELECT before, after, details FROM header WHERE seq = ?1")?
        .query_row([seq], |row| {
            Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, String>(2)?))
        })?;
    Ok(Some(Account { summary, dsn, recipients, tries, before: before.map(Into::into), after: after.into(), details }))
}

fn recipient(row: &Row<'_>) -> Result<RecipientView> {
    Ok(RecipientView {
        ordinal: row.number("ordinal")?,
        address: row.address("address")?,
        upstream: row.get("wish")?,
        asked: asked(row)?,
        settled: settled(row)?,
        reported: row.get("reported")?,
    })
}

fn attempt(row: &Row<'_>) -> Result<TryView> {
    let time = |name: &str| row.time(name).map(|time| time.unwrap_or(Timestamp::UNIX_EPOCH));
    let recipients: String = row.get("recipients")?;
    let one = Try {
        upstream: row.get("upstream")?,
        began: time("began")?,
        ended: time("ended")?,
        outcome: row.get("outcome")?,
        ambiguous: row.get("ambiguous")?,
        reply: row.get("reply")?,
        cause: row.get("cause")?,
        remote_id: row.get("remote")?,
        recipients: recipients.split(',').filter_map(|number| number.parse().ok()).collect(),
    };
    Ok((row.number("number")?, one))
}

/// How many messages there are in each state that is not finished; `octets` is left at 0.
pub(super) fn counts(connection: &Connection) -> std::result::Result<Counts, StoreError> {
    let mut count = connection.prepare_cached("SELECT count(*) FROM message WHERE state = ?1")?;
    let mut of =
        |one: State| -> Result<u64> { count.query_row([state(one)], |row| row.get::<_, i64>(0)).map(positive) };
    let oldest = connection
        .prepare_cached("SELECT min(received) AS time FROM message WHERE state IN (?1, ?2, ?3)")?
        .query_row(params![state(State::Queued), state(State::Leased), state(State::Held)], |row| row.time("time"))?;
    Ok(Counts { queued: of(State::Queued)?, leased: of(State::Leased)?, held: of(State::Held)?, oldest, octets: 0 })
}

fn positive(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// When an identity last delivered.
pub(super) fn identity(connection: &Connection, name: &str) -> std::result::Result<Option<Timestamp>, StoreError> {
    let mut select = connection.prepare_cached("SELECT time FROM identity WHERE name = ?1")?;
    Ok(select.query_row([name], |row| row.time("time")).optional()?.flatten())
}
