//! Where the store is kept, and how its errors are told.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_state::database::{ServerDatabase, SqlFault};
use bonded_state::sqlite::file::StoreFile;
use bonded_state::{ServerProblem, StoreError};

use super::error::{StoreFault, WorkspaceError};

/// A file, or a database on a server.
#[derive(Clone, Debug)]
pub(super) enum StorePlace {
    File(StoreFile),
    Server(Arc<dyn ServerDatabase>),
}

impl StorePlace {
    /// As errors name it.
    fn name(&self) -> PathBuf {
        match self {
            Self::File(file) => file.path(),
            Self::Server(database) => database.label().into(),
        }
    }

    /// What a fault in a transaction is to the caller.
    pub(super) fn error(&self, fault: StoreFault) -> WorkspaceError {
        let file = || self.name();
        match fault {
            StoreFault::Refused(refused) => (*refused).into(),
            StoreFault::Sql(error) => match self {
                Self::File(file) => file.sql(&error).into(),
                // Values are converted by SQLite's library wherever they go.
                Self::Server(_) => {
                    let why = error.to_string();
                    StoreError::Corrupt { file: file(), why }.into()
                }
            },
            StoreFault::Server(SqlFault::Store(error)) => error.into(),
            StoreFault::Server(SqlFault::Constraint(why)) => {
                StoreError::Io { file: file(), why }.into()
            }
            StoreFault::Damaged(why) => StoreError::Corrupt { file: file(), why }.into(),
        }
    }

    /// Whoever was to answer has gone.
    pub(super) fn closed(&self) -> StoreError {
        StoreError::Closed { file: self.name() }
    }

    /// It takes no writes.
    pub(super) fn not_writable(&self, why: &str) -> StoreError {
        match self {
            Self::File(file) => file.not_writable(why),
            Self::Server(database) => StoreError::Server {
                at: database.label(),
                problem: ServerProblem::ReadOnly { why: why.into() },
            },
        }
    }

    /// The files that are the store.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let Self::File(file) = self else {
            return vec![];
        };
        let beside = |end: &str| {
            let mut name = file.path().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        ["", "-wal", "-shm", "-journal"].map(beside).into()
    }
}
