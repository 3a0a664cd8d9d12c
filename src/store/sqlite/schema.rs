//! The layout of the database, and the way from an older one to it.

use rusqlite::Connection;

use crate::store::StoreError;

use super::fault::fault;

/// Marks the file as ours (`PRAGMA application_id`).
const APPLICATION: i64 = 0x4864_6774;

/// The steps from one version to the next; their number is the version.
pub(super) const STEPS: &[&str] = &[LAYOUT, WAITING, DSN];

const LAYOUT: &str = "
CREATE TABLE message (
    seq      INTEGER PRIMARY KEY,
    id       BLOB    NOT NULL UNIQUE,
    state    INTEGER NOT NULL,
    route    TEXT    NOT NULL,            -- the upstream that has to take it; empty for any
    time     INTEGER,                     -- queued: due; leased: the end of the lease; finished: when
    lease    INTEGER NOT NULL,
    rounds   INTEGER NOT NULL DEFAULT 0,
    noticed  INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    sender   TEXT    NOT NULL,
    user     TEXT,
    reason   TEXT    NOT NULL DEFAULT '',
    body     INTEGER NOT NULL             -- 0 gone, 1 in the table body, otherwise octets in a file
);
CREATE INDEX message_by_state ON message (state, route, time);
CREATE TABLE recipient (
    seq      INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    address  TEXT    NOT NULL,
    wish     TEXT,
    status   INTEGER NOT NULL DEFAULT 0,
    reported INTEGER NOT NULL DEFAULT 0,
    reply    TEXT,
    cause    TEXT,
    upstream TEXT,
    remote   TEXT,
    time     INTEGER,
    PRIMARY KEY (seq, ordinal)
) WITHOUT ROWID;
CREATE TABLE attempt (
    seq        INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    upstream   TEXT    NOT NULL,
    began      INTEGER NOT NULL,
    ended      INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    ambiguous  INTEGER NOT NULL,
    reply      TEXT    NOT NULL,
    cause      TEXT    NOT NULL,
    remote     TEXT,
    recipients TEXT    NOT NULL,          -- their numbers, parted by commas
    PRIMARY KEY (seq, number)
) WITHOUT ROWID;
CREATE TABLE header (
    seq     INTEGER PRIMARY KEY,
    before  BLOB,
    after   BLOB NOT NULL,
    details TEXT NOT NULL
);
CREATE TABLE body (
    seq    INTEGER PRIMARY KEY,
    octets BLOB NOT NULL
);
CREATE TABLE identity (
    name TEXT    PRIMARY KEY,
    time INTEGER NOT NULL
) WITHOUT ROWID;
";

/// What waits (state 0 is queued), by age. What is delivered as it comes never gets into it.
const WAITING: &str = "CREATE INDEX message_waiting ON message (noticed, received) WHERE state = 0;";

/// What a client asked to hear (RFC 3461), in the words of SMTP without xtext; null where it did not say.
const DSN: &str = "
ALTER TABLE message ADD COLUMN ret TEXT;
ALTER TABLE message ADD COLUMN envid TEXT;
ALTER TABLE recipient ADD COLUMN notify TEXT;
ALTER TABLE recipient ADD COLUMN orcpt TEXT;
";

/// Makes the layout of this version out of an older one or of nothing.
pub(super) fn bring_up(connection: &mut Connection, path: &str) -> Result<(), StoreError> {
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    let application: i64 =
        connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(|error| fault(&error))?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| fault(&error))?;
    if application != APPLICATION && tables > 0 {
        return Err(StoreError::Corrupt(format!("{path} is a database of another program")));
    }
    let steps = STEPS.iter().skip(usize::try_from(found).unwrap_or(0));
    let transaction = connection.transaction().map_err(|error| fault(&error))?;
    for step in steps {
        transaction.execute_batch(step).map_err(|error| fault(&error))?;
    }
    transaction
        .execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known};"))
        .and_then(|()| transaction.commit())
        .map_err(|error| fault(&error))
}

/// Whether a file that begins with these octets is a store of ours or nothing yet. SQLite itself would make files beside
/// it, and whoever looks may not be the user who has to write them later (SQLite, "Database File Format", section 1.3).
pub(super) fn recognize(begin: &[u8], path: &str) -> Result<(), StoreError> {
    let number = |at: usize| Some(i64::from(u32::from_be_bytes(begin.get(at..at + 4)?.try_into().ok()?)));
    if begin.is_empty() {
        return Ok(());
    }
    let fields = begin.starts_with(b"SQLite format 3\0").then(|| Some((number(28)?, number(60)?, number(68)?)));
    let Some((pages, found, application)) = fields.flatten() else {
        return Err(StoreError::Corrupt(format!("{path} is no database")));
    };
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    // A database of one page has no table yet.
    if application != APPLICATION && pages > 1 {
        return Err(StoreError::Corrupt(format!("{path} is a database of another program")));
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|error| fault(&error))
}
