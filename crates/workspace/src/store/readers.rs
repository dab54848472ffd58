//! Reading one state of the file, and waiting for a turn to.
//!
//! There are two pools: one for reads that may take long, which are waited for in turn, and one for single rows, which
//! are read on the thread that asks. Otherwise a few long searches would keep everybody from being let in at all.

use std::sync::Arc;

use bonded_state::database::{ServerDatabase, SessionUse};
use bonded_state::sqlite::file::StoreFile;
use bonded_state::sqlite::pool::{Pool, connections_max};
use rusqlite::config::DbConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::error::{StoreFault, WorkspaceError};
use super::place::StorePlace;

/// How many distinct statements reading uses, and some more.
const STATEMENTS_MAX: usize = 64;

/// How much of the file each connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 2048;

/// The same where only single rows are looked up.
const LOOKUP_CACHE_KIB: i64 = 256;

/// How many reads of a server may be under way at once; single rows are looked up beside them.
const SERVER_READS_MAX: usize = 6;

/// Cheap reads never wait behind long ones.
#[derive(Debug)]
pub(super) enum Readers {
    File {
        pool: Pool,
        /// Used by the threads that answer requests, so there are no more of these. No long read keeps them busy.
        lookups: Pool,
    },
    Server {
        database: Arc<dyn ServerDatabase>,
        turns: Arc<Semaphore>,
    },
}

impl Readers {
    /// Connections are opened when they are first needed.
    pub(super) fn of_file(file: StoreFile) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::File {
            lookups: Pool::new(file.clone(), processors, |it| {
                set_up(it, STATEMENTS_MAX, LOOKUP_CACHE_KIB)
            }),
            pool: Pool::new(file, connections_max(), |it| {
                set_up(it, STATEMENTS_MAX, CACHE_KIB)
            }),
        }
    }

    /// The database keeps its connections.
    pub(super) fn of_server(database: Arc<dyn ServerDatabase>) -> Self {
        let turns = Arc::new(Semaphore::new(SERVER_READS_MAX));
        Self::Server { database, turns }
    }

    /// Whether reading is waiting for somebody else, and must not be done where nothing may wait.
    pub(super) fn are_elsewhere(&self) -> bool {
        matches!(self, Self::Server { .. })
    }

    /// Waits until a connection is free.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        match self {
            Self::File { pool, .. } => pool.turn().await,
            // Nobody ever closes it.
            Self::Server { turns, .. } => turns.clone().acquire_owned().await.ok(),
        }
    }

    /// So that the writer is the last one to close the file.
    pub(super) fn close_idle(&self) {
        if let Self::File { pool, lookups } = self {
            pool.close_idle();
            lookups.close_idle();
        }
    }

    /// Reads one state of the store, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(Connection<'_>) -> Result<T, StoreFault>,
    ) -> Result<T, WorkspaceError> {
        match self {
            Self::File { pool, .. } => {
                let result = pool.lend(|connection| {
                    let transaction = connection
                        .unchecked_transaction()
                        .map_err(StoreFault::Sql)?;
                    read(Connection::File(&transaction))
                })?;
                result.map_err(|fault| StorePlace::File(pool.file().clone()).error(fault))
            }
            Self::Server { database, .. } => on_server(database, SessionUse::Read, read),
        }
    }

    /// Reads with one statement, which sees one state of the store, and without waiting for a turn.
    pub(super) fn look_up<T>(
        &self,
        read: impl FnOnce(Connection<'_>) -> Result<T, StoreFault>,
    ) -> Result<T, WorkspaceError> {
        match self {
            Self::File { lookups, .. } => {
                let result = lookups.lend(|connection| read(Connection::File(connection)))?;
                result.map_err(|fault| StorePlace::File(lookups.file().clone()).error(fault))
            }
            Self::Server { database, .. } => on_server(database, SessionUse::LookUp, read),
        }
    }
}

/// Reads in a session, which ends with it.
fn on_server<T>(
    database: &Arc<dyn ServerDatabase>,
    session_use: SessionUse,
    read: impl FnOnce(Connection<'_>) -> Result<T, StoreFault>,
) -> Result<T, WorkspaceError> {
    let session = database.begin(session_use)?;
    let result = read(Connection::Server(&*session));
    result.map_err(|fault| StorePlace::Server(database.clone()).error(fault))
}

/// Bounds what a connection keeps in memory.
pub(super) fn set_up(
    connection: &rusqlite::Connection,
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tempfile::TempDir;

    use super::*;
    use crate::store::WorkspaceStore;

    fn free_turns(readers: &Readers) -> usize {
        match readers {
            Readers::File { pool, .. } => pool.free_turns(),
            Readers::Server { turns, .. } => turns.available_permits(),
        }
    }

    #[tokio::test]
    async fn who_finds_all_connections_taken_waits_for_one() {
        let file = StoreFile::new("unused".as_ref(), &crate::store::workspace_store::LAYOUT);
        let readers = Readers::of_file(file.expect("a path is all it takes"));
        let taken: Vec<_> = (0..free_turns(&readers))
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
        let taken: Vec<_> = (0..free_turns(&store.readers))
            .map(|_| store.readers.turn().now_or_never())
            .collect();
        let found = store.user_by_token("nobody's").now_or_never();
        assert!(matches!(found, Some(Ok(None))), "{found:?}");
        let listed = store.users().now_or_never();
        assert!(listed.is_none(), "what takes longer waits: {listed:?}");
        drop(taken);
    }
}
