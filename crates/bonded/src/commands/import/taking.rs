//! Takes files in, many with one transaction.
//!
//! A note that is known by where its file lies remembers in its metadata what the file held and which version of
//! the note came of it. With that, three states are distinguished: the file is the same, so that nothing happens,
//! whatever was done to the note here; only the file changed, so that the note follows it; both changed, so that
//! nothing is lost unless the person says whose word counts. A note whose file names its id follows the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_kernel::{Hash, Millis, NoteId};
use bonded_workspace::store::Write;
use bonded_workspace_rules::{Change, Metadata, NewNote, Note, NoteEdit, NoteWrite};
use serde_json::json;

use super::reading::VaultFile;
use super::summary::{NoteChange, Summary};
use super::{stem, times};
use crate::error::{CliError, store_error};
use crate::workspace::notebook::{Notebook, by_keeper};

/// Where the file of a note lies, what it held, and the version of the note that came of it.
/// The directory's own path is not part of it: the same vault may lie elsewhere the next time.
const PATH: &str = "import.path";
/// Of the whole file, its head included.
const HASH: &str = "import.hash";
/// The note is at this version as long as nobody has changed it here.
const VERSION: &str = "import.version";

/// One batch. It is used up by `take`.
pub(super) struct Taking<'a> {
    book: &'a Notebook,
    /// Whether the file's word counts where both changed.
    overwrite: bool,
    now: Millis,
    /// The changes of this transaction, and the file that each belongs to.
    writes: Vec<Write>,
    files: Vec<usize>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(book: &'a Notebook, overwrite: bool, now: Millis) -> Self {
        Self {
            book,
            overwrite,
            now,
            writes: vec![],
            files: vec![],
        }
    }

    /// Takes these files in. What the workspace refuses is told of, and the others are taken all the same.
    /// All changes go to the store as one transaction. One that the store refuses leaves the others alone; a store
    /// that fails leaves none of them, and ends the import.
    pub(super) async fn take(
        mut self,
        mut prepared: Vec<VaultFile>,
        summary: &mut Summary,
    ) -> Result<(), CliError> {
        let known = self.known(&mut prepared, summary).await?;
        let mut paths: Vec<(PathBuf, Option<NoteChange>)> = vec![];
        for (place, one) in prepared.into_iter().enumerate() {
            let path = one.path.clone();
            let taken = match known.get(&one.id) {
                None => Some(self.create(place, one)),
                Some(note) => match self.update(place, note, one) {
                    Ok(taken) => Some(taken),
                    Err(why) => {
                        summary.not_taken(&path, why);
                        None
                    }
                },
            };
            paths.push((path, taken));
        }
        let results = self.book.store.write_all(self.writes).await;
        let results = results.map_err(store_error)?;
        for (place, result) in self.files.iter().zip(results) {
            if let (Err(refused), (path, taken @ Some(_))) = (result, &mut paths[*place]) {
                summary.not_taken(path, &refused.to_string());
                *taken = None;
            }
        }
        let taken = paths.into_iter().filter_map(|(_, taken)| taken);
        taken.for_each(|taken| summary.taken(taken));
        Ok(())
    }

    /// The notes that are there already. A file may name the note of another workspace, by accident or not: it is then
    /// a note of this one with another id, always the same, so that taking it in again changes nothing.
    async fn known(
        &self,
        prepared: &mut [VaultFile],
        summary: &mut Summary,
    ) -> Result<BTreeMap<NoteId, Note>, CliError> {
        let here = self.book.workspace.workspace_id;
        let store = &self.book.store;
        let ids = prepared.iter().map(|it| it.id).collect();
        let mut known = store.notes_by_id(ids).await.map_err(store_error)?;
        for one in prepared {
            let is_foreign = |note: &Note| note.workspace_id != here;
            if !known.get(&one.id).is_some_and(is_foreign) {
                continue;
            }
            one.id = NoteId::derived(&[b"import", here.as_bytes(), one.id.as_bytes()]);
            let what = format!(
                "its id belongs to another workspace; the note has the id {} here",
                one.id
            );
            summary.tell(&one.path, &what);
            let own = store.note(one.id).await.map_err(store_error)?;
            known.extend(own.map(|note| (one.id, note)));
        }
        Ok(known)
    }

    /// Keeps the change and the file that it belongs to in step: the results come back by place.
    fn write(&mut self, place: usize, change: Change, at: Millis) {
        self.writes.push(by_keeper(change, at));
        self.files.push(place);
    }

    /// A note that was written to after it was made takes two changes, each at its own time, so that its history
    /// says both.
    fn create(&mut self, place: usize, one: VaultFile) -> NoteChange {
        let (created, updated) = times(&one.file, self.now);
        let origin = Self::origin(&one, 1);
        let fields = one.file.fields;
        let mut metadata = fields.metadata;
        metadata.extend(origin);
        let new = NewNote {
            note_id: one.id,
            workspace_id: self.book.workspace.workspace_id,
            title: fields.title.or_else(|| stem(&one.path)),
            markdown: one.file.markdown.clone(),
            note_kind: fields.kind,
            access_scope: fields.access.unwrap_or_default(),
            keywords: fields.keywords,
            metadata,
        };
        self.write(place, Change::CreateNote(new), created);
        if updated > created {
            // So that the note says when it was last written to, as its file does.
            let edit = NoteEdit {
                markdown: Some(one.file.markdown),
                ..NoteEdit::default()
            };
            self.edit(place, one.id, 1, edit, updated);
        }
        NoteChange::New
    }

    /// The version that the change is based on is counted here; if somebody else has written meanwhile, the store
    /// refuses it.
    fn edit(&mut self, place: usize, note_id: NoteId, base: u64, edit: NoteEdit, at: Millis) {
        let change = Change::UpdateNote(NoteWrite {
            note_id,
            base_version: base,
            edit,
        });
        self.write(place, change, at);
    }

    /// Where a note comes from, where its file does not say who it is.
    fn origin(one: &VaultFile, version: u64) -> Metadata {
        let Some(hash) = &one.hash else {
            return Metadata::new();
        };
        Metadata::from([
            (PATH.to_owned(), json!(one.path.to_string_lossy())),
            (HASH.to_owned(), json!(hash)),
            (VERSION.to_owned(), json!(version)),
        ])
    }

    /// Only what differs is written, so that taking the same files in again changes nothing.
    /// A deleted note comes back first, which takes a version of its own; the change is based on that one.
    fn update(
        &mut self,
        place: usize,
        note: &Note,
        one: VaultFile,
    ) -> Result<NoteChange, &'static str> {
        if let Some(hash) = &one.hash {
            if is_same(note, hash) {
                return Ok(NoteChange::Same);
            }
            let left_at = note.metadata.get(VERSION).and_then(|it| it.as_u64());
            if left_at != Some(note.version) && !self.overwrite {
                return Err(
                    "both its note and the file have changed since the last import; --overwrite imports the file",
                );
            }
        }
        let is_deleted = note.deleted_at.is_some();
        let base_version = note.version + u64::from(is_deleted);
        let mut metadata = one.file.fields.metadata.clone();
        metadata.extend(Self::origin(&one, base_version + 1));
        let fields = one.file.fields;
        let edit = NoteEdit {
            title: fields.title.filter(|title| *title != note.title),
            markdown: Some(one.file.markdown).filter(|text| **text != *note.markdown),
            patch: None,
            note_kind: fields.kind.filter(|kind| *kind != note.note_kind),
            access_scope: fields.access.filter(|access| *access != note.access_scope),
            keywords: Some(fields.keywords).filter(|words| *words != note.keywords),
            metadata: metadata
                .into_iter()
                .filter(|(key, value)| note.metadata.get(key) != Some(value))
                .collect(),
        };
        if edit == NoteEdit::default() {
            return Ok(NoteChange::Same);
        }
        if is_deleted {
            let change = Change::UndeleteNote {
                note_id: note.note_id,
                base_version: Some(note.version),
            };
            self.write(place, change, self.now);
        }
        self.edit(place, note.note_id, base_version, edit, self.now);
        Ok(NoteChange::Changed)
    }
}

/// Whether the note was taken in from just this file. What became of it here since is nobody's business.
fn is_same(note: &Note, hash: &Hash) -> bool {
    note.metadata.get(HASH) == Some(&json!(hash))
}
