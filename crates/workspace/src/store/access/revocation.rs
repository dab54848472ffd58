//! Taking away what opens something: tokens, sessions, invitations.
//!
//! Each is one statement inside the transaction of the caller, so that whatever is taken away is gone together with the
//! reason for it.

use crate::store::connection::Connection;
use bonded_kernel::{Millis, UserId};
use rusqlite::params;

use crate::store::codes::time;
use crate::store::error::{StoreFault, WorkspaceError};
use crate::store::workspace_store::WorkspaceStore;

impl WorkspaceStore {
    /// Takes all tokens, sessions and invitations from a person.
    pub async fn revoke_access(&self, user_id: UserId, now: Millis) -> Result<(), WorkspaceError> {
        self.change(move |transaction| revoke_all(transaction.connection, user_id, now))
            .await
    }
}

/// For somebody who is deleted.
pub(in crate::store) fn revoke_all(
    connection: Connection<'_>,
    user_id: UserId,
    now: Millis,
) -> Result<(), StoreFault> {
    revoke_tokens(connection, user_id, now)?;
    end_sessions(connection, user_id)?;
    forget_invitations(connection, user_id)
}

/// Revoked tokens keep their row, so that whoever shows one can be told that it was revoked.
pub(super) fn revoke_tokens(
    connection: Connection<'_>,
    user_id: UserId,
    now: Millis,
) -> Result<(), StoreFault> {
    let sql = "UPDATE token SET revoked_at = ?2 WHERE user = ?1 AND revoked_at IS NULL";
    connection.execute(sql, params![user_id.as_bytes(), time(now)])?;
    Ok(())
}

/// A session leaves nothing behind.
pub(in crate::store) fn end_sessions(
    connection: Connection<'_>,
    user_id: UserId,
) -> Result<(), StoreFault> {
    let sql = "DELETE FROM session WHERE user = ?1";
    connection.execute(sql, [user_id.as_bytes()])?;
    Ok(())
}

/// An invitation leaves nothing behind.
pub(super) fn forget_invitations(
    connection: Connection<'_>,
    user_id: UserId,
) -> Result<(), StoreFault> {
    let sql = "DELETE FROM invitation WHERE user = ?1";
    connection.execute(sql, [user_id.as_bytes()])?;
    Ok(())
}
