//! A few connections that only read, each used by one thread at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::error::{Fault, WorkspaceError};
use crate::StoreError;
use crate::sqlite::file::StoreFile;

/// How many connections are kept for the next reader.
const IDLE_MAX: usize = 4;

/// How many distinct statements reading uses, and some more.
const STATEMENTS_MAX: usize = 64;

/// How much of the file each connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 4096;

#[derive(Debug)]
pub(super) struct Readers {
    file: StoreFile,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(file: StoreFile) -> Self {
        Self {
            file,
            idle: Mutex::default(),
        }
    }

    pub(super) fn close_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads one state of the file, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, WorkspaceError> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let result = connection
            .unchecked_transaction()
            .map_err(Fault::Sql)
            .and_then(|transaction| read(&transaction));
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        drop(idle);
        result.map_err(|fault| error(&self.file, fault))
    }

    fn open(&self) -> Result<Connection, WorkspaceError> {
        let connection = self.file.open_for_reading()?;
        set_up(&connection, STATEMENTS_MAX, CACHE_KIB).map_err(|e| self.file.sql(&e))?;
        Ok(connection)
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
