//! What can go wrong in a workspace store.
//!
//! Two kinds, which callers treat differently: a refusal is an answer to whoever asked, and a failure of the store is
//! for whoever runs the server. Inside of a transaction there is a third: damage, which is a failure that trying again
//! does not mend.

use bonded_workspace_rules::Refused;
use rusqlite::ErrorCode;

use bonded_state::StoreError;
use bonded_state::database::SqlFault;

/// Why the store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkspaceError {
    /// The change is not allowed or does not fit; nothing is wrong with the store.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The file could not be read or written, or holds what it cannot.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkspaceError {
    /// Why the change was refused, if it was.
    pub fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::Store(_) => None,
        }
    }
}

/// Why something inside a transaction did not work.
#[derive(Debug)]
pub(super) enum StoreFault {
    /// The change is not to be made.
    Refused(Box<Refused>),
    Sql(rusqlite::Error),
    Server(SqlFault),
    /// The file holds what this program never wrote.
    Damaged(String),
}

impl StoreFault {
    /// Whether nothing else in the same transaction can be made either: the disk is full, the file is locked.
    pub(super) fn concerns_all(&self) -> bool {
        match self {
            Self::Sql(error) => error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation),
            Self::Server(fault) => !matches!(fault, SqlFault::Constraint(_)),
            Self::Refused(_) | Self::Damaged(_) => false,
        }
    }
}

impl From<Refused> for StoreFault {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl From<rusqlite::Error> for StoreFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for StoreFault {
    fn from(error: StoreError) -> Self {
        Self::Server(error.into())
    }
}

impl From<SqlFault> for StoreFault {
    fn from(fault: SqlFault) -> Self {
        Self::Server(fault)
    }
}

impl From<serde_json::Error> for StoreFault {
    /// A text that is no JSON, or other JSON than this program writes, is damage.
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}
