//! A store in a directory.

use std::path::Path;

use bonded_workspace::store::WorkspaceStore;

#[expect(clippy::unused_async, reason = "a store elsewhere is waited for")]
pub(crate) async fn open(dir: &Path) -> WorkspaceStore {
    WorkspaceStore::open(&dir.join("workspace.db")).expect("the store opens")
}
