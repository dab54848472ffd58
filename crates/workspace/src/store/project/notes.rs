//! A note's row, its snapshots, its words and its links.
//!
//! The order within one event matters: the place of the words is looked up before the row is moved, and the former
//! title is kept before the row has the new one. A change of metadata alone touches neither links nor vectors.

use bonded_kernel::folded;
use bonded_workspace_rules::{Note, NoteFact, links};
use rusqlite::params;

use super::Projection;
use crate::store::codes::{json, number, time};
use crate::store::error::StoreFault;
use crate::store::words::{self, IndexRow, WaitingWords};

/// After so many versions a note is written down whole, so that no older version is far from one that is.
const SNAPSHOT_EVERY: u64 = 64;

/// What stands in the columns of a note that are not its fields as they are.
struct Columns<'a> {
    folded: String,
    keywords: String,
    metadata: String,
    /// A short text; a long one is named in `blob`.
    text: Option<&'a str>,
    blob: Option<String>,
}

impl<'a> Columns<'a> {
    /// A long text is named by its hash; short ones stand in the row.
    fn of(note: &'a Note) -> Result<Self, StoreFault> {
        let is_long = note.markdown.blob().is_some();
        Ok(Self {
            folded: folded(&note.title),
            keywords: json(&note.keywords)?,
            metadata: json(&note.metadata)?,
            text: (!is_long).then(|| note.markdown.as_str()),
            blob: is_long.then(|| json(&note.markdown)).transpose()?,
        })
    }
}

impl Projection<'_> {
    /// An event about a note that the view has not is damage.
    fn note(&self) -> Result<&Note, StoreFault> {
        let missing = || StoreFault::Damaged("an event is about a note that is not there".into());
        self.loaded.view.note.as_ref().ok_or_else(missing)
    }

    /// Makes the row of a new note, and says its key. Where its words are is not known before its event has a row.
    pub(super) fn insert_note(&self) -> Result<i64, StoreFault> {
        let note = self.note()?;
        let columns = Columns::of(note)?;
        self.connection
            .insert("key", "INSERT INTO note (id, workspace, title, folded, kind, scope, keywords, metadata, text, blob, version, \
                 created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)", params![
                note.note_id.as_bytes(),
                self.loaded.workspace_key,
                note.title,
                columns.folded,
                note.note_kind,
                note.access_scope.as_str(),
                columns.keywords,
                columns.metadata,
                columns.text,
                columns.blob,
                number(note.version),
                time(note.created_at),
                time(note.updated_at),
            ])
    }

    /// The row is that of the event.
    pub(super) fn project_note(
        &self,
        fact: NoteFact<'_>,
        row: u64,
        words: &mut WaitingWords,
    ) -> Result<(), StoreFault> {
        let note = self.note()?;
        self.move_words(note, row, words)?;
        match note.version {
            1 => self.place_new_note(row)?,
            _ => {
                self.keep_former_title(note, row)?;
                self.update_note(note, row)?;
            }
        }
        if note.version.is_multiple_of(SNAPSHOT_EVERY) {
            self.connection.execute(
                "INSERT INTO snapshot (note, version, body) VALUES (?1, ?2, ?3)",
                params![self.loaded.note_key, number(note.version), json(note)?],
            )?;
        }
        match fact {
            NoteFact::MetadataSet { .. } | NoteFact::MetadataDeleted { .. } => Ok(()),
            NoteFact::Deleted => self.forget_vectors(),
            NoteFact::Updated(updated) if updated.markdown.is_none() => self.want_vectors(),
            NoteFact::TitleChanged(_) | NoteFact::Undeleted => self.want_vectors(),
            NoteFact::Created(_) | NoteFact::Updated(_) => {
                self.want_vectors()?;
                self.index_links(note)
            }
        }
    }

    /// All else of a new note has been written with its row.
    fn place_new_note(&self, row: u64) -> Result<(), StoreFault> {
        self.connection.execute(
            "UPDATE note SET written = ?2 WHERE key = ?1",
            params![self.loaded.note_key, number(row)],
        )?;
        Ok(())
    }

    /// A note that is called otherwise now is still what links of before mean.
    fn keep_former_title(&self, note: &Note, row: u64) -> Result<(), StoreFault> {
        self.connection.execute(
            "INSERT INTO former_title (workspace, folded, note, row) \
                 SELECT workspace, folded, key, ?2 FROM note WHERE key = ?1 AND folded <> ?3 \
                 ON CONFLICT (workspace, folded, note) DO UPDATE SET row = excluded.row",
            params![self.loaded.note_key, number(row), folded(&note.title)],
        )?;
        Ok(())
    }

    /// Every column is written, which is simpler than to tell what changed and costs no more.
    fn update_note(&self, note: &Note, row: u64) -> Result<(), StoreFault> {
        let columns = Columns::of(note)?;
        self.connection
            .execute("UPDATE note SET title = ?2, folded = ?3, kind = ?4, scope = ?5, keywords = ?6, metadata = ?7, \
                 text = ?8, blob = ?9, version = ?10, updated_at = ?11, deleted_at = ?12, written = ?13 WHERE key = ?1", params![
                self.loaded.note_key,
                note.title,
                columns.folded,
                note.note_kind,
                note.access_scope.as_str(),
                columns.keywords,
                columns.metadata,
                columns.text,
                columns.blob,
                number(note.version),
                time(note.updated_at),
                note.deleted_at.map(time),
                number(row),
            ])?;
        Ok(())
    }

    /// Words stand in the index where the last event puts them, whatever it changed; a deleted note is found no more.
    fn move_words(
        &self,
        note: &Note,
        row: u64,
        words: &mut WaitingWords,
    ) -> Result<(), StoreFault> {
        let (Some(workspace), Some(key)) = (self.loaded.workspace_key, self.loaded.note_key) else {
            return Ok(());
        };
        let from = match note.version {
            1 => None,
            _ => words::place_of(self.connection, key)?,
        };
        let written = number(row);
        let to = IndexRow { workspace, written };
        words.push(from, note.deleted_at.is_none().then(|| (to, note.clone())));
        Ok(())
    }

    /// Every embedding model is to see the note as it is now.
    fn want_vectors(&self) -> Result<(), StoreFault> {
        self.connection
            .execute("INSERT INTO wanted (model, note) SELECT key, ?1 FROM model WHERE true ON CONFLICT DO NOTHING", [self.loaded.note_key])?;
        Ok(())
    }

    /// For all models: what is deleted is found by none.
    fn forget_vectors(&self) -> Result<(), StoreFault> {
        let (workspace, note) = (self.loaded.workspace_key, self.loaded.note_key);
        self.connection
            .execute("DELETE FROM vector WHERE workspace = ?1 AND note = ?2 AND model IN (SELECT key FROM model)", params![workspace, note])?;
        self.connection.execute(
            "DELETE FROM wanted WHERE note = ?1 AND model IN (SELECT key FROM model)",
            [note],
        )?;
        Ok(())
    }

    /// All links of the note are written anew, because a link has no identity of its own.
    fn index_links(&self, note: &Note) -> Result<(), StoreFault> {
        self.connection
            .execute("DELETE FROM link WHERE source = ?1", [self.loaded.note_key])?;
        let sql = "INSERT INTO link (source, workspace, folded, target) VALUES (?1, ?2, ?3, ?4)";
        for target in links(&note.markdown) {
            let parameters = params![
                self.loaded.note_key,
                self.loaded.workspace_key,
                folded(&target),
                target,
            ];
            self.connection.execute(sql, parameters)?;
        }
        Ok(())
    }
}
