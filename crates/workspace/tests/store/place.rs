//! A store in a directory of its own.

use std::path::PathBuf;

use bonded_workspace::store::WorkspaceStore;
use tempfile::TempDir;

pub(crate) struct Place(TempDir);

impl Place {
    #[expect(clippy::unused_async, reason = "a store elsewhere is waited for")]
    pub(crate) async fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory can be made"))
    }

    /// The store; the same one again as another process would open it.
    pub(crate) fn open(&self) -> WorkspaceStore {
        WorkspaceStore::open(&self.file()).expect("the store opens")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("workspace.db")
    }

    /// How many notes have words in the index.
    pub(crate) fn indexed(&self) -> i64 {
        let file = rusqlite::Connection::open(self.file()).expect("it opens");
        let rows = file.query_row("SELECT count(*) FROM words", [], |row| row.get(0));
        rows.expect("it counts")
    }
}
