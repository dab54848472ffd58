//! Where workspaces, notes and rules are kept: one SQLite file, its events append-only.
//!
//! A [`Write`] is decided by the kernel inside the transaction that makes it durable, and everything that is read
//! here follows from the events of such writes. One thread writes, and commits all that waits with one sync; reads go
//! through a small pool of connections, but for single rows, which are looked up at once. Several processes may use one
//! file. The store knows no time of its own and draws no ids.

mod access;
mod accounts;
mod answers;
mod automation;
mod blobs;
mod codes;
mod connection;
mod contents;
#[cfg(test)]
mod cost;
mod dialect;
mod error;
mod followed_stream;
mod leadership;
mod left;
mod limits;
mod links;
mod members;
mod notes;
mod people;
mod place;
mod project;
mod proof;
mod readers;
mod rows;
mod search;
mod secrets;
mod server_writer;
mod streams;
mod transact;
mod transaction;
mod vectors;
mod views;
mod watched_stream;
mod words;
mod workspace_store;
mod write;
mod writer;

use bonded_state::database::SchemaLayout;
use bonded_workspace_rules::Refused;

pub use access::{ListedSession, ListedToken, LoginSession, proof_id};
pub use automation::{QueuedRuns, RunFilter};
pub use error::WorkspaceError;
pub use followed_stream::FollowedStream;
pub use leadership::ENGINE_LEASE;
pub use left::{
    Closing, IssueState, ListedAttachment, ListedIssue, ListedNotice, NOTICES_MARKED_MAX,
};
pub use limits::{GuessRule, Guesser};
pub use members::MemberStanding;
pub use notes::{ListedNote, NoteFilter, NoteSort, Page};
pub use people::{User, UserState};
pub use proof::{By, Proof};
pub use rows::StoredRule;
pub use search::{Hit, SearchQuery, SearchSort, TextHits};
pub use secrets::NewSecret;
pub use vectors::{Nearest, NoteVector, UnseenNote};
pub use workspace_store::WorkspaceStore;
pub use write::{CommittedWrite, IdempotencyKey, Write, WriteOutcome};

/// The tables of a store on a server.
pub const SERVER_SCHEMA: SchemaLayout = SchemaLayout {
    schema: "bonded_workspace",
    migrations: &[include_str!("store/server_001.sql")],
    usable_from: 1,
};

impl WorkspaceStore {
    /// Makes a change, if the kernel says so: all of its events, or none. It has been synced when this resolves. A
    /// future that is dropped after its first poll may still write.
    pub async fn write(&self, write: Write) -> Result<CommittedWrite, WorkspaceError> {
        self.change(move |transaction| transaction.write(&write))
            .await
    }

    /// The same for somebody who asks in their own name, if what they showed is still good when the change is made.
    pub async fn write_by(&self, by: By, write: Write) -> Result<CommittedWrite, WorkspaceError> {
        self.change(move |transaction| {
            by.check_actor(transaction.connection, &write.actor)?;
            transaction.write(&write)
        })
        .await
    }

    /// Whether something can be written: it is, and is synced.
    pub async fn try_writing(&self) -> Result<(), WorkspaceError> {
        let sql = "INSERT INTO cursor (name, value) VALUES ('tried', 1) \
                   ON CONFLICT (name) DO UPDATE SET value = cursor.value + 1";
        self.change(move |transaction| {
            transaction.connection.execute(sql, rusqlite::params![])?;
            Ok(())
        })
        .await
    }

    /// Makes several changes in one transaction, each by itself: what is refused leaves the others as they are.
    pub async fn write_all(
        &self,
        writes: Vec<Write>,
    ) -> Result<Vec<Result<CommittedWrite, Refused>>, WorkspaceError> {
        self.change(move |transaction| transaction.write_all(&writes))
            .await
    }
}
