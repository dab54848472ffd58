//! Contents of attachments where several machines share a store: they are kept with the long texts, under their hashes.
//!
//! Beside a file they are files (`AttachmentFiles`). One that no event names, because the request behind it failed, stays.

use bonded_kernel::Hash;
use rusqlite::params;

use super::error::{StoreFault, WorkspaceError};
use super::rows;
use super::workspace_store::WorkspaceStore;

impl WorkspaceStore {
    /// Keeps a content; it is synced when this resolves. What is there already is not written again.
    pub async fn keep_content(&self, bytes: Vec<u8>) -> Result<Hash, WorkspaceError> {
        let hash = Hash::of(&bytes);
        self.change(move |transaction| {
            let sql =
                "INSERT INTO blob (hash, packed, bytes) VALUES (?1, 0, ?2) ON CONFLICT DO NOTHING";
            let parameters = params![hash.as_bytes(), bytes];
            transaction.connection.execute(sql, parameters)?;
            Ok(hash)
        })
        .await
    }

    /// A content that is not what its name says is damage.
    pub async fn content(&self, hash: Hash) -> Result<Option<Vec<u8>>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT bytes FROM blob WHERE hash = ?1 AND packed = 0";
            let found: Option<Vec<u8>> =
                rows::one(connection, sql, [hash.as_bytes()], |row| row.get(0))?;
            match found {
                Some(bytes) if Hash::of(&bytes) != hash => Err(StoreFault::Damaged(format!(
                    "the attachment {hash} is damaged"
                ))),
                found => Ok(found),
            }
        })
        .await
    }
}
