//! Notes, as they are and as they were.

use std::collections::BTreeMap;

use bonded_kernel::{Millis, NoteId, WorkspaceId};
use bonded_workspace_rules::{AccessScope, Metadata, Note, StoredEvent, apply};
use rusqlite::{Connection, params};
use serde::Serialize;

use super::codes::number;
use super::error::Fault;
use super::{WorkspaceError, WorkspaceStore, blobs, rows, streams};

/// Which part of a long answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: u64,
    pub offset: u64,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            limit: 50,
            offset: 0,
        }
    }
}

/// Which notes to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteFilter {
    pub workspace: WorkspaceId,
    pub note_kind: Option<String>,
    pub include_deleted: bool,
    pub sort: NoteSort,
    pub page: Page,
}

/// The order of a list; equal ones by their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteSort {
    /// What was written to last is first.
    #[default]
    Updated,
    /// The newest is first.
    Created,
    Title,
}

/// A note without its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedNote {
    pub note_id: NoteId,
    pub workspace_id: WorkspaceId,
    pub title: String,
    pub note_kind: String,
    pub access_scope: AccessScope,
    pub keywords: Vec<String>,
    pub metadata: Metadata,
    pub version: u64,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub deleted_at: Option<Millis>,
}

impl From<Note> for ListedNote {
    fn from(note: Note) -> Self {
        Self {
            note_id: note.note_id,
            workspace_id: note.workspace_id,
            title: note.title,
            note_kind: note.note_kind,
            access_scope: note.access_scope,
            keywords: note.keywords,
            metadata: note.metadata,
            version: note.version,
            created_at: note.created_at,
            updated_at: note.updated_at,
            deleted_at: note.deleted_at,
        }
    }
}

impl WorkspaceStore {
    /// The note as it is, deleted ones too.
    pub async fn note(&self, note: NoteId) -> Result<Option<Note>, WorkspaceError> {
        self.read(move |connection| note_now(connection, note))
            .await
    }

    /// The notes with these ids, those that there are.
    pub async fn notes_by_id(
        &self,
        ids: Vec<NoteId>,
    ) -> Result<BTreeMap<NoteId, Note>, WorkspaceError> {
        self.read(move |connection| {
            let mut found = BTreeMap::new();
            for id in ids {
                found.extend(note_now(connection, id)?.map(|note| (id, note)));
            }
            Ok(found)
        })
        .await
    }

    /// The note as it was at a version; `None` if it never had that version.
    pub async fn note_at(
        &self,
        note: NoteId,
        version: u64,
    ) -> Result<Option<Note>, WorkspaceError> {
        self.read(move |connection| note_at(connection, note, version))
            .await
    }

    /// What happened to a note, the last first.
    pub async fn history(
        &self,
        note: NoteId,
        page: Page,
    ) -> Result<Vec<StoredEvent>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} WHERE note = (SELECT key FROM note WHERE id = ?1) ORDER BY version DESC LIMIT ?2 OFFSET ?3",
                rows::EVENT
            );
            let parameters = params![note.as_bytes(), number(page.limit), number(page.offset)];
            rows::all(connection, &sql, parameters, |row| {
                Ok(rows::event(connection, row)?.1)
            })
        })
        .await
    }

    pub async fn notes(&self, filter: NoteFilter) -> Result<Vec<ListedNote>, WorkspaceError> {
        self.read(move |connection| listed(connection, &filter))
            .await
    }
}

fn note_now(connection: &Connection, note: NoteId) -> Result<Option<Note>, Fault> {
    Ok(keyed_note(connection, note)?.map(|(_, note)| note))
}

/// The note with its key and its whole text.
pub(super) fn keyed_note(
    connection: &Connection,
    note: NoteId,
) -> Result<Option<(i64, Note)>, Fault> {
    let sql = format!("{} WHERE note.id = ?1", rows::NOTE);
    let mut found = rows::one(connection, &sql, [note.as_bytes()], rows::note)?;
    if let Some((_, note)) = &mut found {
        blobs::resolve(connection, &mut note.markdown)?;
    }
    Ok(found)
}

/// Folds the note from the last snapshot that is not after the version.
pub(super) fn note_at(
    connection: &Connection,
    id: NoteId,
    version: u64,
) -> Result<Option<Note>, Fault> {
    let sql = "SELECT body FROM snapshot WHERE note = (SELECT key FROM note WHERE id = ?1) AND version <= ?2 \
               ORDER BY version DESC LIMIT 1";
    let parameters = params![id.as_bytes(), number(version)];
    let mut note: Option<Note> = rows::one(connection, sql, parameters, |row| {
        let body: String = row.get(0)?;
        Ok(serde_json::from_str(&body)?)
    })?;
    let from = note.as_ref().map_or(0, |note| note.version);
    for event in streams::events_of_note(connection, id, from, version, usize::MAX)? {
        apply(&mut note, &event);
    }
    let mut note = note.filter(|note| note.version == version);
    if let Some(note) = &mut note {
        blobs::resolve(connection, &mut note.markdown)?;
    }
    Ok(note)
}

fn listed(connection: &Connection, filter: &NoteFilter) -> Result<Vec<ListedNote>, Fault> {
    let Some(workspace) = rows::workspace_key(connection, filter.workspace)? else {
        return Ok(vec![]);
    };
    let order = match filter.sort {
        NoteSort::Updated => "note.updated_at DESC, note.id",
        NoteSort::Created => "note.created_at DESC, note.id",
        NoteSort::Title => "note.folded, note.id",
    };
    let kind = filter
        .note_kind
        .as_ref()
        .map_or("", |_| "AND note.kind = ?4");
    let deleted = if filter.include_deleted {
        ""
    } else {
        "AND deleted_at IS NULL"
    };
    // The page is found in an index alone; only its notes are read.
    let sql = format!(
        "{} WHERE note.key IN (SELECT key FROM note WHERE workspace = ?1 {kind} {deleted} \
         ORDER BY {order} LIMIT ?2 OFFSET ?3) ORDER BY {order}",
        rows::NOTE
    );
    let (limit, offset) = (number(filter.page.limit), number(filter.page.offset));
    let read = |row: &rusqlite::Row<'_>| Ok(rows::note(row)?.1.into());
    match &filter.note_kind {
        Some(kind) => rows::all(
            connection,
            &sql,
            params![workspace, limit, offset, kind],
            read,
        ),
        None => rows::all(connection, &sql, params![workspace, limit, offset], read),
    }
}
