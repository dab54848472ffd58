//! Reading one state of the file.

use rusqlite::Connection;

use super::error::{Fault, WorkspaceError};
use crate::StoreError;
use crate::sqlite::file::StoreFile;
use crate::sqlite::pool::Pool;

/// How many distinct statements reading uses, and some more.
const STATEMENTS_MAX: usize = 64;

/// How much of the file each connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 4096;

#[derive(Debug)]
pub(super) struct Readers {
    pool: Pool,
}

impl Readers {
    pub(super) fn new(file: StoreFile) -> Self {
        let pool = Pool::new(file, |it| set_up(it, STATEMENTS_MAX, CACHE_KIB));
        Self { pool }
    }

    pub(super) fn close_idle(&self) {
        self.pool.close_idle();
    }

    /// Reads one state of the file, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, WorkspaceError> {
        let result = self.pool.lend(|connection| {
            let transaction = connection.unchecked_transaction().map_err(Fault::Sql)?;
            read(&transaction)
        })?;
        result.map_err(|fault| error(self.pool.file(), fault))
    }
}

/// Bounds what a connection keeps in memory.
pub(super) fn set_up(
    connection: &Connection,
    statements_max: usize,
    cache_kib: i64,
) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(statements_max);
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    // A word that is in every note is sorted in memory, not in a file.
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// What a fault in a transaction is to the caller.
pub(super) fn error(file: &StoreFile, fault: Fault) -> WorkspaceError {
    match fault {
        Fault::Refused(refused) => (*refused).into(),
        Fault::Sql(error) => file.sql(&error).into(),
        Fault::Damaged(why) => StoreError::Corrupt {
            file: file.path(),
            why,
        }
        .into(),
    }
}
