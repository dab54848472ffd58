//! Reading one state of the file, and waiting for a turn to.
//!
//! There are two pools: one for reads that may take long, which are waited for in turn, and one for single rows, which
//! are read on the thread that asks. Otherwise a few long searches would keep everybody from being let in at all.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::OwnedSemaphorePermit;

use super::error::{StoreFault, WorkspaceError};
use bonded_state::StoreError;
use bonded_state::sqlite::file::StoreFile;
use bonded_state::sqlite::pool::{Pool, connections_max};

/// How many distinct statements reading uses, and some more.
const STATEMENTS_MAX: usize = 64;

/// How much of the file each connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 2048;

/// The same where only single rows are looked up.
const LOOKUP_CACHE_KIB: i64 = 256;

/// Cheap reads never wait behind long ones.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Pool,
    /// Used by the threads that answer requests, so there are no more of these. No long read keeps them busy.
    lookups: Pool,
}

impl Readers {
    /// Connections are opened when they are first needed.
    pub(super) fn new(file: StoreFile) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            lookups: Pool::new(file.clone(), processors, |it| {
                set_up(it, STATEMENTS_MAX, LOOKUP_CACHE_KIB)
            }),
            pool: Pool::new(file, connections_max(), |it| {
                set_up(it, STATEMENTS_MAX, CACHE_KIB)
            }),
        }
    }

    /// Waits until a connection is free.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.pool.turn().await
    }

    /// So that the writer is the last one to close the file.
    pub(super) fn close_idle(&self) {
        self.pool.close_idle();
        self.lookups.close_idle();
    }

    /// Reads one state of the file, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreFault>,
    ) -> Result<T, WorkspaceError> {
        let result = self.pool.lend(|connection| {
            let transaction = connection
                .unchecked_transaction()
                .map_err(StoreFault::Sql)?;
            read(&transaction)
        })?;
        result.map_err(|fault| error(self.pool.file(), fault))
    }

    /// Reads with one statement, which sees one state of the file by itself, and without waiting for a turn.
    pub(super) fn look_up<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreFault>,
    ) -> Result<T, WorkspaceError> {
        let result = self.lookups.lend(read)?;
        result.map_err(|fault| error(self.lookups.file(), fault))
    }
}

/// Bounds what a connection keeps in memory.
pub(super) fn set_up(
    connection: &Connection,
    statements_max: usize,
    cache_kib: i64,
) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(statements_max);
    // Else a statement whose plan may hang on what is bound to it is planned anew each time, which takes longer than
    // most reads.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    // A word that is in every note is sorted in memory, not in a file.
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// What a fault in a transaction is to the caller.
pub(super) fn error(file: &StoreFile, fault: StoreFault) -> WorkspaceError {
    match fault {
        StoreFault::Refused(refused) => (*refused).into(),
        StoreFault::Sql(error) => file.sql(&error).into(),
        StoreFault::Damaged(why) => StoreError::Corrupt {
            file: file.path(),
            why,
        }
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tempfile::TempDir;

    use super::*;
    use crate::store::WorkspaceStore;

    #[tokio::test]
    async fn who_finds_all_connections_taken_waits_for_one() {
        let file = StoreFile::new("unused".as_ref(), &crate::store::workspace_store::LAYOUT);
        let readers = Readers::new(file.expect("a path is all it takes"));
        let taken: Vec<_> = (0..readers.pool.free_turns())
            .map(|_| readers.turn().now_or_never())
            .collect();
        assert!(taken.iter().all(Option::is_some));
        assert!(readers.turn().now_or_never().is_none());
        drop(taken);
        assert!(readers.turn().now_or_never().is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whose_token_it_is_can_be_told_while_all_connections_are_taken() {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let store = WorkspaceStore::open(&dir.path().join("store")).expect("it opens");
        let taken: Vec<_> = (0..store.readers.pool.free_turns())
            .map(|_| store.readers.turn().now_or_never())
            .collect();
        let found = store.user_by_token("nobody's").now_or_never();
        assert!(matches!(found, Some(Ok(None))), "{found:?}");
        let listed = store.users().now_or_never();
        assert!(listed.is_none(), "what takes longer waits: {listed:?}");
        drop(taken);
    }
}
