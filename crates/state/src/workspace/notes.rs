//! Notes, as they are and as they were.

use std::collections::BTreeMap;

use bonded_kernel::Millis;
use bonded_kernel::workspace::{
    AccessScope, Metadata, Note, NoteId, StoredEvent, Workspace, WorkspaceId, apply, folded,
};
use bonded_kernel::workspace::{Role, UserId};
use rusqlite::{Connection, params};
use serde::Serialize;

use super::codes::{count, from_word, number};
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

    /// The notes with a link that leads to this one, by title.
    pub async fn backlinks(&self, note: NoteId) -> Result<Vec<ListedNote>, WorkspaceError> {
        self.read(move |connection| backlinks(connection, note))
            .await
    }

    /// What a link that is written in a note of this workspace leads to: the exact title, then the title in any
    /// case, then the id.
    pub async fn link_target(
        &self,
        workspace: WorkspaceId,
        written: String,
    ) -> Result<Option<NoteId>, WorkspaceError> {
        self.read(
            move |connection| match rows::workspace_key(connection, workspace)? {
                Some(key) => target_of(connection, key, &written),
                None => Ok(None),
            },
        )
        .await
    }

    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!("{} WHERE id = ?1", rows::WORKSPACE);
            rows::one(connection, &sql, [id.as_bytes()], rows::workspace)
        })
        .await
    }

    /// All workspaces, the oldest first.
    pub async fn all_workspaces(&self) -> Result<Vec<Workspace>, WorkspaceError> {
        self.read(|connection| {
            let sql = format!("{} ORDER BY key", rows::WORKSPACE);
            rows::all(connection, &sql, [], rows::workspace)
        })
        .await
    }

    /// The workspaces that a person is a member of, the oldest first.
    pub async fn workspaces(&self, user: UserId) -> Result<Vec<(Workspace, Role)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT id, name, state, created_at, updated_at, role \
                 FROM member JOIN workspace ON workspace.key = member.workspace WHERE user = ?1 ORDER BY key";
            rows::all(connection, sql, [user.as_bytes()], |row| {
                let role: String = row.get(5)?;
                Ok((rows::workspace(row)?, from_word(&role)?))
            })
        })
        .await
    }

    /// The members of a workspace, by their ids.
    pub async fn members(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<(UserId, Role)>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT user, role FROM member \
                 WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) ORDER BY user";
            rows::all(connection, sql, [workspace.as_bytes()], |row| {
                let (user, role): ([u8; 16], String) = (row.get(0)?, row.get(1)?);
                Ok((UserId::from_bytes(user), from_word(&role)?))
            })
        })
        .await
    }

    /// What a person is in a workspace.
    pub async fn role(
        &self,
        workspace: WorkspaceId,
        user: UserId,
    ) -> Result<Option<Role>, WorkspaceError> {
        self.read(
            move |connection| match rows::workspace_key(connection, workspace)? {
                Some(key) => role_in(connection, key, user),
                None => Ok(None),
            },
        )
        .await
    }
}

pub(super) fn role_in(
    connection: &Connection,
    workspace: i64,
    user: UserId,
) -> Result<Option<Role>, Fault> {
    let sql = "SELECT role FROM member WHERE workspace = ?1 AND user = ?2";
    rows::one(
        connection,
        sql,
        params![workspace, user.as_bytes()],
        |row| {
            let role: String = row.get(0)?;
            from_word(&role)
        },
    )
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

/// The note that a link leads to. Of several with one title it is the oldest.
pub(super) fn target_of(
    connection: &Connection,
    workspace: i64,
    written: &str,
) -> Result<Option<NoteId>, Fault> {
    let sql = "SELECT id FROM note WHERE workspace = ?1 AND folded = ?2 AND deleted_at IS NULL \
               ORDER BY title <> ?3, created_at, id LIMIT 1";
    let parameters = params![workspace, folded(written), written];
    let by_title = rows::one(connection, sql, parameters, |row| Ok(row.get(0)?))?;
    if let Some(id) = by_title {
        return Ok(Some(NoteId::from_bytes(id)));
    }
    let Ok(id) = written.parse::<NoteId>() else {
        return Ok(None);
    };
    let sql = "SELECT 1 FROM note WHERE id = ?1 AND workspace = ?2 AND deleted_at IS NULL";
    let parameters = params![id.as_bytes(), workspace];
    Ok(rows::one(connection, sql, parameters, |_| Ok(id))?)
}

fn backlinks(connection: &Connection, id: NoteId) -> Result<Vec<ListedNote>, Fault> {
    let mut found = Vec::new();
    for source in linking(connection, id)? {
        let sql = format!("{} WHERE note.key = ?1", rows::NOTE);
        found.extend(rows::one(connection, &sql, [source], rows::note)?);
    }
    let mut found: Vec<ListedNote> = found.into_iter().map(|(_, note)| note.into()).collect();
    found.sort_by(|a, b| (&a.title, a.note_id).cmp(&(&b.title, b.note_id)));
    Ok(found)
}

/// The keys of the notes that link to this one, none of them deleted.
fn linking(connection: &Connection, id: NoteId) -> Result<Vec<i64>, Fault> {
    let sql = "SELECT workspace, folded FROM note WHERE id = ?1";
    let place = rows::one(connection, sql, [id.as_bytes()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let Some((workspace, title)) = place else {
        return Ok(vec![]);
    };
    let sql = "SELECT link.source, link.target FROM link JOIN note ON note.key = link.source \
               WHERE link.workspace = ?1 AND link.folded IN (?2, ?3) AND note.deleted_at IS NULL \
               ORDER BY link.source";
    let parameters = params![workspace, title, id.to_string()];
    let candidates = rows::all(connection, sql, parameters, |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    // A note that many link to is mostly linked to in the same words.
    let mut leads_here = BTreeMap::new();
    let mut sources = Vec::new();
    for (source, target) in candidates {
        let leads = match leads_here.get(&target) {
            Some(leads) => *leads,
            None => {
                let leads = target_of(connection, workspace, &target)? == Some(id);
                leads_here.insert(target, leads);
                leads
            }
        };
        if leads && sources.last() != Some(&source) {
            sources.push(source);
        }
    }
    Ok(sources)
}

/// How many notes link to this one.
pub(super) fn backlink_count(connection: &Connection, id: NoteId) -> Result<u64, Fault> {
    Ok(linking(connection, id)?.len() as u64)
}

/// How many owners a workspace has.
pub(super) fn owners(connection: &Connection, workspace: i64) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM member WHERE workspace = ?1 AND role = 'owner'";
    let owners = rows::one(connection, sql, [workspace], |row| Ok(count(row.get(0)?)))?;
    Ok(owners.unwrap_or(0))
}
