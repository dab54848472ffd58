//! Notes, as they are and as they were.
//!
//! The row of a note is its newest state; older ones are folded from the nearest snapshot and the events after it, so
//! that a look at an old version costs a bounded number of events.

use std::collections::BTreeMap;

use super::connection::{Connection, Row};
use bonded_kernel::{Millis, NoteId, WorkspaceId};
use bonded_workspace_rules::{AccessScope, Metadata, Note, StoredEvent, apply};
use rusqlite::params;
use serde::Serialize;

use super::codes::{count, number};
use super::error::{StoreFault, WorkspaceError};
use super::workspace_store::WorkspaceStore;
use super::{blobs, rows, streams};

/// Which part of a long answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The most that come back.
    pub limit: u64,
    /// How many are passed over.
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
    /// Notes of this workspace only.
    pub workspace: WorkspaceId,
    /// Only notes of this kind; None means any.
    pub note_kind: Option<String>,
    /// Only notes with this keyword, exactly as it is written.
    pub keyword: Option<String>,
    /// Only notes of this folder, not of those below it.
    pub folder: Option<String>,
    /// Deleted notes are left out otherwise.
    pub include_deleted: bool,
    /// Which come first.
    pub sort: NoteSort,
    /// Which part of the list.
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
    /// By the title in any case.
    Title,
}

/// A note without its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedNote {
    /// What to ask for the whole note with.
    pub note_id: NoteId,
    /// Where it is.
    pub workspace_id: WorkspaceId,
    /// As it is written; lists sort by it in any case.
    pub title: String,
    /// What a filter by kind compares with.
    pub note_kind: String,
    /// For whom it is meant.
    pub access_scope: AccessScope,
    /// In the order in which they were given.
    pub keywords: Vec<String>,
    /// All of it, which is bounded, unlike the text.
    pub metadata: Metadata,
    /// The version that a change of it would have to name.
    pub version: u64,
    /// When it was made.
    pub created_at: Millis,
    /// When it was written to last.
    pub updated_at: Millis,
    /// Since when it is deleted; None while it is not.
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

    /// One page of a workspace's notes.
    pub async fn notes(&self, filter: NoteFilter) -> Result<Vec<ListedNote>, WorkspaceError> {
        self.read(move |connection| listed(connection, &filter))
            .await
    }
}

/// Without the key, for callers outside of the store.
fn note_now(connection: Connection<'_>, note: NoteId) -> Result<Option<Note>, StoreFault> {
    Ok(keyed_note(connection, note)?.map(|(_, note)| note))
}

/// The note with its key and its whole text.
pub(super) fn keyed_note(
    connection: Connection<'_>,
    note: NoteId,
) -> Result<Option<(i64, Note)>, StoreFault> {
    let sql = format!("{} WHERE note.id = ?1", rows::NOTE);
    let mut found = rows::one(connection, &sql, [note.as_bytes()], rows::note)?;
    if let Some((_, note)) = &mut found {
        blobs::resolve(connection, &mut note.markdown)?;
    }
    Ok(found)
}

/// Folds the note from the last snapshot that is not after the version.
pub(super) fn note_at(
    connection: Connection<'_>,
    id: NoteId,
    version: u64,
) -> Result<Option<Note>, StoreFault> {
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

/// Kind and deletion are part of the text of the query, so that each combination can use its index.
fn listed(connection: Connection<'_>, filter: &NoteFilter) -> Result<Vec<ListedNote>, StoreFault> {
    let Some(workspace) = rows::workspace_key(connection, filter.workspace)? else {
        return Ok(vec![]);
    };
    let order = match filter.sort {
        NoteSort::Updated => "note.updated_at DESC, note.id",
        NoteSort::Created => "note.created_at DESC, note.id",
        NoteSort::Title => "note.folded, note.id",
    };
    let mut conditions = String::new();
    let mut parameters: Vec<Box<dyn rusqlite::ToSql>> = vec![
        Box::new(workspace),
        Box::new(number(filter.page.limit)),
        Box::new(number(filter.page.offset)),
    ];
    // The value is always a parameter; `#` stands for its number.
    let wanted = [
        (&filter.note_kind, "AND note.kind = ?# "),
        (
            &filter.keyword,
            "AND EXISTS (SELECT 1 FROM json_each(note.keywords) WHERE value = ?#) ",
        ),
        (
            &filter.folder,
            "AND json_extract(note.metadata, '$.folder') = ?# ",
        ),
    ];
    for (value, condition) in wanted {
        if let Some(value) = value {
            parameters.push(Box::new(value.clone()));
            conditions.push_str(&condition.replace('#', &parameters.len().to_string()));
        }
    }
    let deleted = if filter.include_deleted {
        ""
    } else {
        "AND deleted_at IS NULL"
    };
    // The page is found in an index alone; only its notes are read.
    let sql = format!(
        "{} WHERE note.key IN (SELECT key FROM note WHERE workspace = ?1 {conditions} {deleted} \
         ORDER BY {order} LIMIT ?2 OFFSET ?3) ORDER BY {order}",
        rows::NOTE
    );
    let read = |row: &Row<'_>| Ok(rows::note(row)?.1.into());
    rows::all(connection, &sql, parameters, read)
}

/// So many keywords are told; more are more than a person reads.
const KEYWORDS_COUNTED_MAX: i64 = 500;

impl WorkspaceStore {
    /// The keywords of a workspace's notes, the most used first. They are counted when notes are written.
    pub async fn keyword_counts(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<(String, u64)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT keyword, notes FROM keyword \
                 WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) \
                 ORDER BY notes DESC, keyword LIMIT ?2";
            let parameters = params![workspace.as_bytes(), KEYWORDS_COUNTED_MAX];
            rows::all(connection, sql, parameters, |row| {
                Ok((row.get(0)?, count(row.get(1)?)))
            })
        })
        .await
    }
}
