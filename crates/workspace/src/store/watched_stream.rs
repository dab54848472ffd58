//! The streams that one can wait for, and how far each goes.
//!
//! A position is a number that only grows, so that waiting is waiting for a larger one.

use bonded_kernel::WorkspaceId;
use rusqlite::params;

use super::codes::count;
use super::connection::{Connection, Row};
use super::error::StoreFault;
use super::rows;

/// What one can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WatchedStream {
    Workspace(WorkspaceId),
    /// The events of all workspaces, in the order in which they were written.
    All,
    /// What decides who may listen, as a count of its changes.
    Access,
}

/// How far a stream goes; 0 before its first event.
pub(super) fn head(connection: Connection<'_>, stream: WatchedStream) -> Result<u64, StoreFault> {
    let read = |row: &Row<'_>| row.get(0);
    let head: Option<i64> = match stream {
        WatchedStream::All => {
            let sql = "SELECT coalesce(max(row), 0) FROM event";
            rows::one(connection, sql, params![], read)?
        }
        WatchedStream::Access => {
            let sql = "SELECT version FROM access_version";
            rows::one(connection, sql, params![], read)?
        }
        WatchedStream::Workspace(id) => {
            let sql = "SELECT coalesce(max(last_seq), 0) FROM workspace WHERE id = ?1";
            rows::one(connection, sql, [id.as_bytes()], read)?
        }
    };
    Ok(count(head.unwrap_or(0)))
}
