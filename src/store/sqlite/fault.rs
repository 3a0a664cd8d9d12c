//! What SQLite and the file system say, as the store's errors.

use rusqlite::{Error, ErrorCode};

use crate::store::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        fault(&error)
    }
}

/// An error of SQLite.
pub(super) fn fault(error: &Error) -> StoreError {
    match error {
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::DiskFull => StoreError::Full(error.to_string()),
        Error::SqliteFailure(failure, _)
            if matches!(failure.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) =>
        {
            StoreError::Corrupt(error.to_string())
        }
        Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) => {
            StoreError::Corrupt(error.to_string())
        }
        _ => StoreError::Unavailable(error.to_string()),
    }
}

/// An error of the file system.
pub(super) fn file_fault(what: &str, error: &std::io::Error) -> StoreError {
    let text = format!("{what}: {error}");
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::Full(text),
        _ => StoreError::Unavailable(text),
    }
}
