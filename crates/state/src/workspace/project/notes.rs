//! A note's row, its snapshots, its words and its links.

use bonded_kernel::workspace::{
    Note, StoredEvent, WorkspaceEvent, folded, headings_and_body, index_text, links,
};
use rusqlite::params;

use super::Projection;
use crate::workspace::codes::{json, number, time};
use crate::workspace::error::Fault;

/// After so many versions a note is written down whole, so that no older version is far from one that is.
const SNAPSHOT_EVERY: u64 = 64;

impl Projection<'_> {
    fn note(&self) -> Result<&Note, Fault> {
        let missing = || Fault::Damaged("an event is about a note that is not there".into());
        self.loaded.view.note.as_ref().ok_or_else(missing)
    }

    pub(super) fn insert_note(&self) -> Result<i64, Fault> {
        let note = self.note()?;
        self.connection
            .prepare_cached(
                "INSERT INTO note (id, workspace, title, folded, kind, scope, keywords, metadata, version, created_at, updated_at) \
                 VALUES (?1, ?2, '', '', '', '', '', '', 0, ?3, 0)",
            )?
            .execute(params![
                note.note_id.as_bytes(),
                self.loaded.workspace_key,
                time(note.created_at),
            ])?;
        Ok(self.connection.last_insert_rowid())
    }

    pub(super) fn project_note(&self, stored: &StoredEvent) -> Result<(), Fault> {
        let note = self.note()?;
        self.update_note(note)?;
        if note.version.is_multiple_of(SNAPSHOT_EVERY) {
            self.connection
                .prepare_cached("INSERT INTO snapshot (note, version, body) VALUES (?1, ?2, ?3)")?
                .execute(params![
                    self.loaded.note_key,
                    number(note.version),
                    json(note)?
                ])?;
        }
        match &stored.event {
            WorkspaceEvent::NoteMetadataSet { .. } | WorkspaceEvent::NoteMetadataDeleted { .. } => {
                Ok(())
            }
            WorkspaceEvent::NoteDeleted { .. } => {
                self.forget_words()?;
                self.forget_vectors()
            }
            WorkspaceEvent::NoteUpdated(updated) if updated.markdown.is_none() => {
                self.index_words(note)
            }
            WorkspaceEvent::NoteTitleChanged { .. } | WorkspaceEvent::NoteUndeleted { .. } => {
                self.index_words(note)
            }
            _ => {
                self.index_words(note)?;
                self.index_links(note)
            }
        }
    }

    fn update_note(&self, note: &Note) -> Result<(), Fault> {
        let is_long = note.markdown.blob().is_some();
        let blob = is_long.then(|| json(&note.markdown)).transpose()?;
        self.connection
            .prepare_cached(
                "UPDATE note SET title = ?2, folded = ?3, kind = ?4, scope = ?5, keywords = ?6, metadata = ?7, \
                 text = ?8, blob = ?9, version = ?10, updated_at = ?11, deleted_at = ?12 WHERE key = ?1",
            )?
            .execute(params![
                self.loaded.note_key,
                note.title,
                folded(&note.title),
                note.note_kind,
                note.access_scope.as_str(),
                json(&note.keywords)?,
                json(&note.metadata)?,
                (!is_long).then(|| note.markdown.as_str()),
                blob,
                number(note.version),
                time(note.updated_at),
                note.deleted_at.map(time),
            ])?;
        Ok(())
    }

    fn index_words(&self, note: &Note) -> Result<(), Fault> {
        self.forget_words()?;
        let (headings, body) = headings_and_body(&note.markdown);
        self.connection
            .prepare_cached(
                "INSERT INTO words (rowid, title, headings, body, keywords) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                self.words_row(),
                index_text(&note.title),
                index_text(&headings),
                index_text(&body),
                index_text(&note.keywords.join("\n")),
            ])?;
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO wanted (model, note) SELECT key, ?1 FROM model")?
            .execute([self.loaded.note_key])?;
        Ok(())
    }

    fn words_row(&self) -> i64 {
        let (workspace, note) = (self.loaded.workspace_key, self.loaded.note_key);
        words_row(workspace.unwrap_or(0), note.unwrap_or(0))
    }

    /// A deleted note is found no more.
    fn forget_words(&self) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
            .execute([self.words_row()])?;
        Ok(())
    }

    fn forget_vectors(&self) -> Result<(), Fault> {
        let (workspace, note) = (self.loaded.workspace_key, self.loaded.note_key);
        self.connection
            .prepare_cached(
                "DELETE FROM vector WHERE workspace = ?1 AND note = ?2 AND model IN (SELECT key FROM model)",
            )?
            .execute(params![workspace, note])?;
        self.connection
            .prepare_cached(
                "DELETE FROM wanted WHERE note = ?1 AND model IN (SELECT key FROM model)",
            )?
            .execute([note])?;
        Ok(())
    }

    fn index_links(&self, note: &Note) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM link WHERE source = ?1")?
            .execute([self.loaded.note_key])?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO link (source, workspace, folded, target) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for target in links(&note.markdown) {
            insert.execute(params![
                self.loaded.note_key,
                self.loaded.workspace_key,
                folded(&target),
                target,
            ])?;
        }
        Ok(())
    }
}

/// The row of a note's words; see the table.
pub(in crate::workspace) fn words_row(workspace: i64, note: i64) -> i64 {
    (workspace << 32) + note
}
