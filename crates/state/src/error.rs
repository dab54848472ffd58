//! What can go wrong in a store, said so that a person knows what to do.

use std::path::{Path, PathBuf};

use bonded_kernel::{BadEntry, RunId};
use rusqlite::{Error, ErrorCode};

use crate::sqlite::unreadable::unreadable;

/// Why a store did not do what it was asked.
///
/// It is `Clone` because the appends of one commit share its failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error(
        "run {run}: the append follows entry {expected}, but the log ends with another entry {found}; load the run again"
    )]
    Conflict {
        run: RunId,
        expected: u64,
        found: u64,
    },
    #[error("there is no run {run}")]
    UnknownRun { run: RunId },
    #[error("run {run} is being driven by {by}; wait until it ends or stop that process")]
    Held { run: RunId, by: String },
    #[error("the entries cannot be appended: {why}")]
    NotAppendable { why: String },
    #[error(
        "run {run} has reached {entries_max} entries, the most that a log can hold; start another run"
    )]
    TooLong { run: RunId, entries_max: u64 },
    #[error(
        "{file}: there is no store; give the path of an existing one or start a run to create it"
    )]
    Missing { file: PathBuf },
    #[error("{file}: this is not a regular file; give the path of a store's file")]
    NotAFile { file: PathBuf },
    #[error("{file}: this is not a store of bonded ({why}); give another path")]
    NotAStore { file: PathBuf, why: String },
    #[error("{file}: the store is damaged ({why}); restore it from a backup")]
    Corrupt { file: PathBuf, why: String },
    #[error(
        "{file}: the store has format {found}, this build reads up to {known}; use a newer build of bonded"
    )]
    NewerFormat {
        file: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("{file}: the disk is full, nothing was written; free some space and resume")]
    Full { file: PathBuf },
    #[error(
        "{file}: the store cannot be written ({why}); check the permissions of the file and of its directory"
    )]
    ReadOnly { file: PathBuf, why: String },
    #[error(
        "{file}: another process kept the store locked for {waited_ms} ms; try again or stop that process"
    )]
    Locked { file: PathBuf, waited_ms: u64 },
    #[error("{file}: reading or writing the store failed ({why}); check the disk")]
    Io { file: PathBuf, why: String },
    #[error("{file}: the log of run {run} is damaged; restore the store from a backup")]
    BadLog {
        file: PathBuf,
        run: RunId,
        source: BadEntry,
    },
    #[error(
        "{file}: the store was removed or replaced while it was in use, and nothing more is kept; put the file back, then resume"
    )]
    Replaced { file: PathBuf },
    #[error("{file}: the store was closed while it was in use")]
    Closed { file: PathBuf },
}

impl StoreError {
    /// Sorts what SQLite said into the classes that a caller tells apart.
    pub(crate) fn from_sqlite(file: &Path, waited_ms: u64, error: &Error) -> Self {
        let file = file.to_path_buf();
        let why = error.to_string();
        if let Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..) = error
        {
            return Self::Corrupt { file, why };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { file },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::ReadOnly { file, why }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked { file, waited_ms }
            }
            Some(
                code @ (ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::SystemIoFailure),
            ) => match (unreadable(&file), code) {
                (Some(why), _) => Self::Io { file, why },
                (None, ErrorCode::DatabaseCorrupt) => Self::Corrupt { file, why },
                (None, ErrorCode::NotADatabase) => Self::NotAStore { file, why },
                (None, _) => Self::Io { file, why },
            },
            _ => Self::Io { file, why },
        }
    }

    pub(crate) fn from_io(file: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let file = file.to_path_buf();
        let why = error.to_string();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { file, why }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { file },
            _ => Self::Io { file, why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_sqlite_says_becomes_the_class_that_a_caller_tells_apart() {
        let file = Path::new("/store.db");
        let table = [
            (ffi::SQLITE_FULL, "Full"),
            (ffi::SQLITE_READONLY_DIRECTORY, "ReadOnly"),
            (ffi::SQLITE_CANTOPEN, "ReadOnly"),
            (ffi::SQLITE_BUSY, "Locked"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "Locked"),
            (ffi::SQLITE_CORRUPT_INDEX, "Corrupt"),
            (ffi::SQLITE_NOTADB, "NotAStore"),
            (ffi::SQLITE_IOERR_FSYNC, "Io"),
            (ffi::SQLITE_CONSTRAINT, "Io"),
        ];
        for (code, class) in table {
            let error = Error::SqliteFailure(ffi::Error::new(code), None);
            let error = StoreError::from_sqlite(file, 5000, &error);
            let debug = format!("{error:?}");
            assert!(debug.starts_with(&format!("{class} ")), "{code}: {debug}");
            assert!(error.to_string().contains("/store.db"), "{error}");
        }
    }
}
