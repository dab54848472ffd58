//! Links between notes, followed in both directions.
//!
//! A link is kept as it is written, and where it leads is decided when somebody asks: a note that is renamed, deleted
//! or made later changes where links lead without a write to those who link.

use std::collections::BTreeMap;

use super::connection::{Connection, Row};
use bonded_kernel::{NoteId, WorkspaceId, folded};
use bonded_workspace_rules::Note;
use rusqlite::params;

use super::error::{StoreFault, WorkspaceError};
use super::notes::ListedNote;
use super::rows;
use super::workspace_store::WorkspaceStore;

impl WorkspaceStore {
    /// The notes with a link that leads to this one, by title.
    pub async fn backlinks(&self, note: NoteId) -> Result<Vec<ListedNote>, WorkspaceError> {
        self.read(move |connection| backlinks(connection, note))
            .await
    }

    /// What a link that is written in a note of this workspace leads to: the exact title, then the title in any
    /// case, then what a note was called before, then the id.
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

    /// The notes of a workspace whose ids lie between two, both included, in their order and up to a number; those that
    /// were deleted are among them.
    pub async fn notes_between(
        &self,
        workspace: WorkspaceId,
        (first, last): (NoteId, NoteId),
        most: u64,
    ) -> Result<Vec<(NoteId, String)>, WorkspaceError> {
        self.read(move |connection| {
            let Some(key) = rows::workspace_key(connection, workspace)? else {
                return Ok(vec![]);
            };
            let sql = "SELECT id, title FROM note WHERE id BETWEEN ?1 AND ?2 AND workspace = ?3 ORDER BY id LIMIT ?4";
            let parameters = params![first.as_bytes(), last.as_bytes(), key, most as i64];
            rows::all(connection, sql, parameters, |row| {
                Ok((NoteId::from_bytes(row.get(0)?), row.get(1)?))
            })
        })
        .await
    }

    /// The notes that have exactly this title, the oldest first, up to a number.
    pub async fn notes_titled(
        &self,
        workspace: WorkspaceId,
        title: String,
        most: u64,
    ) -> Result<Vec<NoteId>, WorkspaceError> {
        self.read(move |connection| {
            let Some(key) = rows::workspace_key(connection, workspace)? else {
                return Ok(vec![]);
            };
            // Without the plus all notes of the workspace are gone through in the order of their creation.
            let sql = "SELECT id FROM note WHERE workspace = ?1 AND folded = ?2 AND title = ?3 \
                       AND deleted_at IS NULL ORDER BY +created_at, id LIMIT ?4";
            let parameters = params![key, folded(&title), title, most as i64];
            rows::all(connection, sql, parameters, |row| {
                Ok(NoteId::from_bytes(row.get(0)?))
            })
        })
        .await
    }
}

/// The note that a link leads to. Of several with one title it is the oldest; of several that had it once, the one that
/// was called otherwise last.
pub(super) fn target_of(
    connection: Connection<'_>,
    workspace: i64,
    written: &str,
) -> Result<Option<NoteId>, StoreFault> {
    let sql = "SELECT id FROM note WHERE workspace = ?1 AND folded = ?2 AND deleted_at IS NULL \
               ORDER BY title <> ?3, created_at, id LIMIT 1";
    let parameters = params![workspace, folded(written), written];
    let by_title = rows::one(connection, sql, parameters, |row| row.get(0))?;
    if let Some(id) = by_title {
        return Ok(Some(NoteId::from_bytes(id)));
    }
    let sql = "SELECT note.id FROM former_title JOIN note ON note.key = former_title.note \
               WHERE former_title.workspace = ?1 AND former_title.folded = ?2 AND deleted_at IS NULL \
               ORDER BY former_title.row DESC LIMIT 1";
    let parameters = params![workspace, folded(written)];
    let by_former = rows::one(connection, sql, parameters, |row| row.get(0))?;
    if let Some(id) = by_former {
        return Ok(Some(NoteId::from_bytes(id)));
    }
    let Ok(id) = written.parse::<NoteId>() else {
        return Ok(None);
    };
    let sql = "SELECT 1 FROM note WHERE id = ?1 AND workspace = ?2 AND deleted_at IS NULL";
    let parameters = params![id.as_bytes(), workspace];
    rows::one(connection, sql, parameters, |_| Ok(id))
}

/// The list is as long as there are notes that link here.
fn backlinks(connection: Connection<'_>, id: NoteId) -> Result<Vec<ListedNote>, StoreFault> {
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
fn linking(connection: Connection<'_>, id: NoteId) -> Result<Vec<i64>, StoreFault> {
    let sql = "SELECT workspace, folded FROM note WHERE id = ?1";
    let place = rows::one(connection, sql, [id.as_bytes()], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?))
    })?;
    let Some((workspace, title)) = place else {
        return Ok(vec![]);
    };
    linking_to(connection, workspace, &title, id)
}

/// The same for a note of this workspace with this folded title.
fn linking_to(
    connection: Connection<'_>,
    workspace: i64,
    title: &str,
    id: NoteId,
) -> Result<Vec<i64>, StoreFault> {
    let sql = "SELECT link.source, link.target FROM link JOIN note ON note.key = link.source \
               WHERE link.workspace = ?1 AND link.folded IN (?2, ?3) AND note.deleted_at IS NULL \
               ORDER BY link.source";
    let parameters = params![workspace, title, id.to_string()];
    let found = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<String>(1)?));
    let mut candidates = rows::all(connection, sql, parameters, found)?;
    // Most notes were never called otherwise.
    let sql = "SELECT folded FROM former_title \
               WHERE note = (SELECT key FROM note WHERE id = ?1)";
    let former: Vec<String> = rows::all(connection, sql, [id.as_bytes()], |row| row.get(0))?;
    for folded in former {
        let sql = "SELECT link.source, link.target FROM link JOIN note ON note.key = link.source \
                   WHERE link.workspace = ?1 AND link.folded = ?2 AND note.deleted_at IS NULL";
        candidates.extend(rows::all(
            connection,
            sql,
            params![workspace, folded],
            found,
        )?);
    }
    candidates.sort();
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
pub(super) fn backlink_count(
    connection: Connection<'_>,
    workspace: i64,
    note: &Note,
) -> Result<u64, StoreFault> {
    let title = folded(&note.title);
    let sources = linking_to(connection, workspace, &title, note.note_id)?;
    Ok(sources.len() as u64)
}
