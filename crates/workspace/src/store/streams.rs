//! Events, read in order and waited for.
//!
//! Nobody is sent events: whoever follows a stream is woken and reads on from where it was, so that nothing is lost
//! between reading and waiting, and a slow reader costs nobody anything.

use super::connection::{Connection, Row};
use bonded_kernel::{EventId, NoteId, WorkspaceId};
use bonded_workspace_rules::StoredEvent;
use rusqlite::params;

use super::codes::{count, number};
use super::error::{StoreFault, WorkspaceError};
use super::followed_stream::FollowedStream;
use super::watched_stream::{WatchedStream, head};
use super::workspace_store::WorkspaceStore;
use super::{blobs, rows};

impl WorkspaceStore {
    /// The events of a workspace after `after_seq`, in order.
    pub async fn events(
        &self,
        workspace: WorkspaceId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, WorkspaceError> {
        self.read(move |connection| events_of_workspace(connection, workspace, after_seq, limit))
            .await
    }

    /// The same, and the version of what decides who may listen, both of one state of the file: whatever had taken
    /// something from somebody before the last of these events is counted.
    pub async fn events_and_access(
        &self,
        workspace: WorkspaceId,
        after_seq: u64,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, u64), WorkspaceError> {
        self.read(move |connection| {
            let events = events_of_workspace(connection, workspace, after_seq, limit)?;
            Ok((events, head(connection, WatchedStream::Access)?))
        })
        .await
    }

    /// The version of what decides who may listen. Who asks for it before they find out whether somebody may has found
    /// out for this version.
    pub async fn access_version(&self) -> Result<u64, WorkspaceError> {
        self.head(WatchedStream::Access).await
    }

    /// The events of a note after the version `after`, in order.
    pub async fn events_of_note(
        &self,
        note: NoteId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, WorkspaceError> {
        self.read(move |connection| {
            let mut events = events_of_note(connection, note, after, u64::MAX, limit)?;
            for event in &mut events {
                if let Some(markdown) = event.event.markdown_mut() {
                    blobs::resolve(connection, markdown)?;
                }
            }
            Ok(events)
        })
        .await
    }

    /// The events of all workspaces after `after_row`, each with its row. Their long texts are not loaded.
    pub async fn events_all(
        &self,
        after_row: u64,
        limit: usize,
    ) -> Result<Vec<(u64, StoredEvent)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} WHERE event.row > ?1 ORDER BY event.row LIMIT ?2",
                rows::EVENT
            );
            let parameters = params![number(after_row), number(limit as u64)];
            rows::all(connection, &sql, parameters, rows::light_event)
        })
        .await
    }

    /// The event with this id.
    pub async fn event(&self, id: EventId) -> Result<Option<StoredEvent>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!("{} WHERE event.id = ?1", rows::EVENT);
            rows::one(connection, &sql, [id.as_bytes()], |row| {
                Ok(rows::event(connection, row)?.1)
            })
        })
        .await
    }

    /// The first event that a cursor of this workspace can still be before. No event is ever dropped, so it is 1.
    pub async fn min_event_seq(&self, workspace: WorkspaceId) -> Result<u64, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT coalesce(min(seq), 1) FROM event WHERE workspace = (SELECT key FROM workspace WHERE id = ?1)";
            let first = rows::one(connection, sql, [workspace.as_bytes()], |row| {
                Ok(count(row.get(0)?))
            })?;
            Ok(first.unwrap_or(1))
        })
        .await
    }

    /// How far a workspace's stream goes; 0 before its first event.
    pub async fn last_event_seq(&self, workspace: WorkspaceId) -> Result<u64, WorkspaceError> {
        self.head(WatchedStream::Workspace(workspace)).await
    }

    /// The row of the last event of all.
    pub async fn last_row(&self) -> Result<u64, WorkspaceError> {
        self.head(WatchedStream::All).await
    }

    /// Resolves when the workspace has an event after `after_seq`, whichever process wrote it.
    pub async fn changed(
        &self,
        workspace: WorkspaceId,
        after_seq: u64,
    ) -> Result<(), WorkspaceError> {
        self.beyond(WatchedStream::Workspace(workspace), after_seq)
            .await
    }

    /// Resolves when any workspace has an event after `after_row`.
    pub async fn changed_any(&self, after_row: u64) -> Result<(), WorkspaceError> {
        self.beyond(WatchedStream::All, after_row).await
    }

    /// From the file itself, so that it also knows what other processes wrote.
    pub(super) async fn head(&self, stream: WatchedStream) -> Result<u64, WorkspaceError> {
        self.look_up(move |connection| head(connection, stream))
            .await
    }

    async fn beyond(&self, stream: WatchedStream, after: u64) -> Result<(), WorkspaceError> {
        FollowedStream::new(stream).beyond(self, after).await?;
        Ok(())
    }
}

fn events_of_workspace(
    connection: Connection<'_>,
    workspace: WorkspaceId,
    after_seq: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreFault> {
    let sql = format!(
        "{} WHERE event.workspace = (SELECT key FROM workspace WHERE id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
        rows::EVENT
    );
    let parameters = params![
        workspace.as_bytes(),
        number(after_seq),
        number(limit as u64)
    ];
    let numbered = |row: &Row<'_>| rows::event(connection, row);
    Ok(unnumbered(rows::all(
        connection, &sql, parameters, numbered,
    )?))
}

/// Without the row, for those who follow one workspace.
fn unnumbered(events: Vec<(u64, StoredEvent)>) -> Vec<StoredEvent> {
    events.into_iter().map(|(_, event)| event).collect()
}

/// The events of a note with versions after `after` and not after `until`, their long texts not loaded.
pub(super) fn events_of_note(
    connection: Connection<'_>,
    note: NoteId,
    after: u64,
    until: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreFault> {
    let sql = format!(
        "{} WHERE note = (SELECT key FROM note WHERE id = ?1) AND version > ?2 AND version <= ?3 ORDER BY version LIMIT ?4",
        rows::EVENT
    );
    let parameters = params![
        note.as_bytes(),
        number(after),
        number(until),
        number(limit as u64)
    ];
    Ok(unnumbered(rows::all(
        connection,
        &sql,
        parameters,
        rows::light_event,
    )?))
}
