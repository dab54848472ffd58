//! `bonded import`: Markdown files into a workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_kernel::workspace::{Change, MARKDOWN_BYTES_MAX, NewNote, Note, NoteEdit, NoteWrite};

use super::export::fault;
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
    let files = read_all(&args.dir)?;
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
fn read_all(dir: &Path) -> Result<Vec<(PathBuf, NoteFile)>, CliError> {
    let entries = fs::read_dir(dir).map_err(|error| fault(dir, &error))?;
    let mut paths = vec![];
    for entry in entries {
        let path = entry.map_err(|error| fault(dir, &error))?.path();
        if path.extension().is_some_and(|it| it == "md") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = vec![];
    for path in paths {
        let bytes = fs::metadata(&path)
            .map_err(|error| fault(&path, &error))?
            .len();
        if bytes > 2 * MARKDOWN_BYTES_MAX as u64 {
            let message = format!("{}: {bytes} bytes are too many for a note", path.display());
            return Err(CliError::new(Code::Usage, message));
        }
        let text = fs::read_to_string(&path).map_err(|error| fault(&path, &error))?;
        let file = front_matter::read(&text)
            .map_err(|why| CliError::new(Code::Usage, format!("{}: {why}", path.display())))?;
        files.push((path, file));
    }
    Ok(files)
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
