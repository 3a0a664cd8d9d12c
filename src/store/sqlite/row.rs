//! The store's words as the values of columns, and back.

use jiff::Timestamp;
use rusqlite::{Row, types::Type};

use crate::{
    mail::{Address, Asked, Dsn, Id, Sender},
    store::{Settled, State, Status},
};

pub(super) type Result<T> = rusqlite::Result<T>;

pub(super) fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

pub(super) fn state(state: State) -> i64 {
    State::ALL.iter().position(|one| *one == state).and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

pub(super) fn status(status: Status) -> i64 {
    Status::ALL.iter().position(|one| *one == status).and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

/// One column, turned into what it stands for.
pub(super) trait Column {
    fn id(&self, name: &str) -> Result<Id>;
    fn time(&self, name: &str) -> Result<Option<Timestamp>>;
    fn address(&self, name: &str) -> Result<Address>;
    fn state(&self, name: &str) -> Result<State>;
    fn status(&self, name: &str) -> Result<Status>;
    fn number<N: TryFrom<i64>>(&self, name: &str) -> Result<N>;
}

impl Column for Row<'_> {
    fn id(&self, name: &str) -> Result<Id> {
        Ok(Id::from_octets(self.get(name)?))
    }

    fn time(&self, name: &str) -> Result<Option<Timestamp>> {
        let millis: Option<i64> = self.get(name)?;
        millis.map(|millis| Timestamp::from_millisecond(millis).map_err(|_| wrong(name, "no time"))).transpose()
    }

    fn address(&self, name: &str) -> Result<Address> {
        Address::parse(self.get_ref(name)?.as_str()?).map_err(|error| wrong(name, &error.to_string()))
    }

    fn state(&self, name: &str) -> Result<State> {
        let number: usize = self.number(name)?;
        State::ALL.get(number).copied().ok_or_else(|| wrong(name, "no state"))
    }

    fn status(&self, name: &str) -> Result<Status> {
        let number: usize = self.number(name)?;
        Status::ALL.get(number).copied().ok_or_else(|| wrong(name, "no status"))
    }

    fn number<N: TryFrom<i64>>(&self, name: &str) -> Result<N> {
        N::try_from(self.get(name)?).map_err(|_| wrong(name, "out of range"))
    }
}

/// The reverse-path of the column `sender`, which is empty for the null path.
pub(super) fn sender(row: &Row<'_>) -> Result<Sender> {
    let empty = row.get_ref("sender")?.as_str()?.is_empty();
    if empty { Ok(Sender(None)) } else { row.address("sender").map(|address| Sender(Some(address))) }
}

/// What MAIL asked to hear.
pub(super) fn dsn(row: &Row<'_>) -> Result<Dsn> {
    Ok(Dsn { ret: word(row, "ret")?, envelope_id: row.get("envid")? })
}

/// What the RCPT of the row asked to hear.
pub(super) fn asked(row: &Row<'_>) -> Result<Asked> {
    Ok(Asked { notify: word(row, "notify")?, original: row.get("orcpt")? })
}

fn word<W: std::str::FromStr<Err = String>>(row: &Row<'_>, name: &str) -> Result<Option<W>> {
    let text = row.get_ref(name)?.as_str_or_null()?;
    text.map(|text| text.parse().map_err(|error: String| wrong(name, &error))).transpose()
}

/// How the recipient of the row was settled, if it was.
pub(super) fn settled(row: &Row<'_>) -> Result<Option<Settled>> {
    let status = row.status("status")?;
    if status == Status::Pending {
        return Ok(None);
    }
    Ok(Some(Settled {
        status,
        reply: row.get::<_, Option<String>>("reply")?.unwrap_or_default(),
        cause: row.get::<_, Option<String>>("cause")?.unwrap_or_default(),
        upstream: row.get::<_, Option<String>>("upstream")?.unwrap_or_default(),
        remote_id: row.get("remote")?,
        time: row.time("time")?.ok_or_else(|| wrong("time", "missing"))?,
    }))
}

fn wrong(name: &str, why: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, format!("column {name}: {why}").into())
}
