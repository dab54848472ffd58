//! `bonded import`: Markdown files into a workspace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::workspace::read_note_files;
use bonded_kernel::workspace::{
    Change, MARKDOWN_BYTES_MAX, NewNote, Note, NoteEdit, NoteId, NoteWrite,
};

use crate::args::ImportArgs;
use crate::error::{CliError, Code};
use crate::output;
use crate::workspace::front_matter::{self, NoteFile};
use crate::workspace::notebook::Notebook;
use crate::workspace::site::now;
use crate::workspace::{ids, store_error};

/// What a file came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    New,
    Changed,
    Same,
}

pub(crate) async fn import(args: &ImportArgs) -> Result<ExitCode, CliError> {
    let book = Notebook::open(&args.place).await?;
    let files = read_all(&book, &args.dir).await?;
    let mut counts = [0_u64; 3];
    for (path, file) in files {
        let taken = take(&book, &path, file).await?;
        counts[taken as usize] += 1;
    }
    let [new, changed, same] = counts;
    output::stderr(&format!(
        "{new} new, {changed} changed, {same} as they were"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Every file, in the order of their names; nothing is taken in if one of them is broken.
async fn read_all(book: &Notebook, dir: &Path) -> Result<Vec<(PathBuf, NoteFile)>, CliError> {
    let read = read_note_files(dir, 2 * MARKDOWN_BYTES_MAX as u64);
    let found = read.map_err(|error| CliError::new(Code::Usage, error.to_string()))?;
    for path in &found.left_out {
        let path = path.display();
        output::stderr(&format!("{path}: left out, because it is no regular file"));
    }
    let mut files = vec![];
    for (path, bytes) in found.files {
        let broken = |why: String| CliError::new(Code::Usage, format!("{}: {why}", path.display()));
        let text = String::from_utf8(bytes).map_err(|_| broken("this is no UTF-8 text".into()))?;
        let mut file = front_matter::read(&text).map_err(broken)?;
        own_id(book, &path, &mut file).await?;
        files.push((path, file));
    }
    Ok(files)
}

/// A file may name the note of another workspace, by accident or not. It is then a note of this one with another id,
/// always the same, so that taking it in again changes nothing.
async fn own_id(book: &Notebook, path: &Path, file: &mut NoteFile) -> Result<(), CliError> {
    let Some(id) = file.fields.id else {
        return Ok(());
    };
    let here = book.workspace.workspace_id;
    let known = book.store.note(id).await.map_err(store_error)?;
    if known.is_some_and(|note| note.workspace_id != here) {
        let own = NoteId::derived(&[b"import", here.as_bytes(), id.as_bytes()]);
        output::stderr(&format!(
            "{}: its id belongs to another workspace; the note has the id {own} here",
            path.display()
        ));
        file.fields.id = Some(own);
    }
    Ok(())
}

async fn take(book: &Notebook, path: &Path, file: NoteFile) -> Result<Taken, CliError> {
    let known = match file.fields.id {
        Some(id) => book.store.note(id).await.map_err(store_error)?,
        None => None,
    };
    match known {
        None => create(book, path, file).await,
        Some(note) => update(book, &note, file).await,
    }
}

async fn create(book: &Notebook, path: &Path, file: NoteFile) -> Result<Taken, CliError> {
    let created = file.created.unwrap_or_else(now);
    let updated = file.updated.unwrap_or(created);
    let (note_id, kind) = (
        file.fields.id.unwrap_or_else(ids::note),
        file.fields.kind.clone(),
    );
    let title = file.fields.title.clone().or_else(|| {
        let stem = path.file_stem()?.to_str()?;
        Some(stem.to_owned())
    });
    let new = NewNote {
        note_id,
        workspace_id: book.workspace.workspace_id,
        title,
        markdown: file.markdown.clone(),
        note_kind: kind,
        access_scope: file.fields.access.unwrap_or_default(),
        keywords: file.fields.keywords.clone(),
        metadata: file.fields.metadata.clone(),
    };
    book.write_at(Change::CreateNote(new), created).await?;
    if updated > created {
        // So that the note says when it was last written to, as its file does.
        let change = Change::UpdateNote(NoteWrite {
            note_id,
            base_version: 1,
            edit: NoteEdit {
                markdown: Some(file.markdown),
                ..NoteEdit::default()
            },
        });
        book.write_at(change, updated).await?;
    }
    Ok(Taken::New)
}

/// Only what differs is written, so that taking the same files in again changes nothing.
async fn update(book: &Notebook, note: &Note, file: NoteFile) -> Result<Taken, CliError> {
    let fields = file.fields;
    let edit = NoteEdit {
        title: fields.title.filter(|title| *title != note.title),
        markdown: Some(file.markdown).filter(|text| **text != *note.markdown),
        patch: None,
        note_kind: fields.kind.filter(|kind| *kind != note.note_kind),
        access_scope: fields.access.filter(|access| *access != note.access_scope),
        keywords: Some(fields.keywords).filter(|words| *words != note.keywords),
        metadata: fields
            .metadata
            .into_iter()
            .filter(|(key, value)| note.metadata.get(key) != Some(value))
            .collect(),
    };
    if edit == NoteEdit::default() {
        return Ok(Taken::Same);
    }
    if note.deleted_at.is_some() {
        let change = Change::UndeleteNote {
            note_id: note.note_id,
            base_version: Some(note.version),
        };
        book.write(change).await?;
    }
    let base_version = note.version + u64::from(note.deleted_at.is_some());
    let change = Change::UpdateNote(NoteWrite {
        note_id: note.note_id,
        base_version,
        edit,
    });
    book.write(change).await?;
    Ok(Taken::Changed)
}
