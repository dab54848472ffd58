//! The streams that one can wait for, and how far each goes.
//!
//! A position is a number that only grows, so that waiting is waiting for a larger one.

use bonded_kernel::WorkspaceId;
use rusqlite::Connection;

use super::codes::count;

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
pub(super) fn head(connection: &Connection, stream: WatchedStream) -> rusqlite::Result<u64> {
    let head: i64 = match stream {
        WatchedStream::All => connection
            .prepare_cached("SELECT ifnull(max(row), 0) FROM event")?
            .query_row([], |row| row.get(0))?,
        WatchedStream::Access => connection
            .prepare_cached("SELECT version FROM access_version")?
            .query_row([], |row| row.get(0))?,
        WatchedStream::Workspace(id) => connection
            .prepare_cached("SELECT ifnull(max(last_seq), 0) FROM workspace WHERE id = ?1")?
            .query_row([id.as_bytes()], |row| row.get(0))?,
    };
    Ok(count(head))
}
