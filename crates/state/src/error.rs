//! What can go wrong in a store, said so that a person knows what to do.

use std::path::{Path, PathBuf};

use bonded_kernel::{BadEntry, RunId};
use rusqlite::{Error, ErrorCode};

use crate::aside::RunAside;
use crate::server_problem::ServerProblem;
use crate::unreadable::unreadable;

/// Why a store did not do what it was asked.
///
/// It is `Clone` because the appends of one commit share its failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else appended meanwhile, or the caller's head is not of this log.
    #[error(
        "run {run}: the append follows entry {expected}, but the log ends with another entry {found}; load the run again"
    )]
    Conflict {
        /// Whose log it is.
        run: RunId,
        /// The number of the entry that the append follows.
        expected: u64,
        /// The number of the last entry that the log has.
        found: u64,
    },
    /// No append has begun a run of this id.
    #[error("there is no run {run}")]
    UnknownRun {
        /// The id.
        run: RunId,
    },
    /// Another living process drives the run.
    #[error("run {run} is being driven by {by}; wait until it ends or stop that process")]
    Held {
        /// The run.
        run: RunId,
        /// The process, in words.
        by: String,
    },
    /// Another store continues the run.
    #[error("run {run} is not continued here: {aside}")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Which store, and why.
        aside: RunAside,
    },
    /// Another process has claimed the run since this one held it: what this one offers is not taken any more.
    #[error("run {run} was taken over by another process")]
    TakenOver {
        /// The run.
        run: RunId,
    },
    /// This process could not show in time that it lives, so that another may take its runs over.
    #[error(
        "run {run}: the lease could not be renewed ({why}), and what was under way was stopped; resume the run"
    )]
    LeaseLost {
        /// A run that it held.
        run: RunId,
        /// What kept it from renewing.
        why: String,
    },
    /// The entries are no append, whatever the log holds: the caller made a mistake.
    #[error("the entries cannot be appended: {why}")]
    NotAppendable {
        /// Which one.
        why: String,
    },
    /// The log of the run is full.
    #[error(
        "run {run} has reached {entries_max} entries, the most that a log can hold; start another run"
    )]
    TooLong {
        /// The run.
        run: RunId,
        /// [`ENTRIES_MAX`](crate::ENTRIES_MAX).
        entries_max: u64,
    },
    /// Nothing lies at the path, and it is not to be made.
    #[error(
        "{file}: there is no store; give the path of an existing one or start a run to create it"
    )]
    Missing {
        /// The path.
        file: PathBuf,
    },
    /// A directory, a pipe or the like lies at the path.
    #[error("{file}: this is not a regular file; give the path of a store's file")]
    NotAFile {
        /// The path.
        file: PathBuf,
    },
    /// A file of something else.
    #[error("{file}: this is not a store of bonded ({why}); give another path")]
    NotAStore {
        /// Its path.
        file: PathBuf,
        /// How that is known.
        why: String,
    },
    /// The file is a store's, and not whole any more.
    #[error("{file}: the store is damaged ({why}); restore it from a backup")]
    Corrupt {
        /// Its path.
        file: PathBuf,
        /// What SQLite says of it.
        why: String,
    },
    /// A newer build has brought the store to its own format.
    #[error(
        "{file}: the store has format {found}, this build reads up to {known}; use a newer build of bonded"
    )]
    NewerFormat {
        /// Its path.
        file: PathBuf,
        /// The format that it has.
        found: u32,
        /// The newest that this build reads.
        known: u32,
    },
    /// Nothing of the change was written.
    #[error("{file}: the disk is full, nothing was written; free some space and resume")]
    Full {
        /// The store's path.
        file: PathBuf,
    },
    /// The store can be read and not written.
    #[error(
        "{file}: the store cannot be written ({why}); check the permissions of the file and of its directory"
    )]
    ReadOnly {
        /// Its path.
        file: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Another process was writing for too long.
    #[error(
        "{file}: another process kept the store locked for {waited_ms} ms; try again or stop that process"
    )]
    Locked {
        /// The store's path.
        file: PathBuf,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The disk failed. The store itself may be whole.
    #[error("{file}: reading or writing the store failed ({why}); check the disk")]
    Io {
        /// Its path.
        file: PathBuf,
        /// What the system says.
        why: String,
    },
    /// An entry is not what it was when it was appended. Other runs of the store may be whole.
    #[error("{file}: the log of run {run} is damaged; restore the store from a backup")]
    BadLog {
        /// The store's path.
        file: PathBuf,
        /// The run.
        run: RunId,
        /// Which entry, and what is wrong with it.
        source: BadEntry,
    },
    /// The path leads to another file than the one that is open.
    #[error(
        "{file}: the store was removed or replaced while it was in use, and nothing more is kept; put the file back, then resume"
    )]
    Replaced {
        /// The path.
        file: PathBuf,
    },
    /// The store is on a server, which cannot be used as it is.
    #[error("{at}: {problem}")]
    Server {
        /// Its address, without a password.
        at: String,
        /// What is wrong, and what to do about it.
        problem: ServerProblem,
    },
    /// Its writer has ended, so that nobody answers.
    #[error("{file}: the store was closed while it was in use")]
    Closed {
        /// The store's path.
        file: PathBuf,
    },
}

impl StoreError {
    /// Whether the store may work again in a moment: its server is away, or another one is taking its place.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Server {
                problem: ServerProblem::Unreachable { .. }
                    | ServerProblem::ReadOnly { .. }
                    | ServerProblem::NoConnection { .. },
                ..
            }
        )
    }

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
