//! `bonded import`: Markdown files into a workspace, those of an export as they were, and those of others with their
//! fields as part of the text.

mod summary;
mod taking;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::workspace::NoteDir;
use bonded_kernel::workspace::{MARKDOWN_BYTES_MAX, NoteId};
use bonded_kernel::{Hash, Millis};

use crate::args::ImportArgs;
use crate::error::{CliError, Code};
use crate::output;
use crate::workspace::front_matter::{self, NoteFile};
use crate::workspace::notebook::Notebook;
use crate::workspace::site::now;
use summary::Summary;
use taking::Taking;

/// Files that are taken in with one transaction: all of them, whatever becomes of the process.
const AT_ONCE: usize = 1000;

/// A file that was read.
struct Prepared {
    /// Beginning at the directory.
    path: PathBuf,
    id: NoteId,
    /// Of the whole file, where the note is known by where its file lies.
    hash: Option<Hash>,
    file: NoteFile,
}

/// The directory that is taken in.
struct Vault<'a> {
    dir: NoteDir,
    /// What tells it from other directories: the same one is the same wherever it lies.
    name: String,
    book: &'a Notebook,
}

pub(crate) async fn import(args: &ImportArgs) -> Result<ExitCode, CliError> {
    let book = Notebook::open(&args.place).await?;
    let vault = Vault::open(&book, &args.dir, args.vault.as_deref())?;
    let found = vault.dir.list().map_err(|error| unreadable(&error))?;
    let mut summary = Summary::new(&found);
    if args.all_or_nothing {
        check_all(&vault, &found.files)?;
    }
    let now = now();
    for paths in found.files.chunks(AT_ONCE) {
        let mut prepared = vec![];
        for path in paths {
            match vault.prepare(path) {
                Ok(one) => prepared.push(one),
                Err(why) => summary.not_taken(path, &why),
            }
        }
        Taking::new(&book, args.overwrite, now)
            .take(prepared, &mut summary)
            .await?;
    }
    for line in summary.lines() {
        output::stderr(&line);
    }
    Ok(ExitCode::from(u8::from(summary.is_incomplete())))
}

/// Reads everything before the first file is taken in.
fn check_all(vault: &Vault<'_>, paths: &[PathBuf]) -> Result<(), CliError> {
    let broken: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            Some(format!(
                "{}: {}",
                path.display(),
                vault.prepare(path).err()?
            ))
        })
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    let message = format!("nothing was taken in: {} files are broken", broken.len());
    let error = CliError::new(Code::Usage, message);
    Err(broken
        .into_iter()
        .take(summary::LINES_MAX)
        .fold(error, CliError::hint))
}

fn unreadable(error: &dyn std::error::Error) -> CliError {
    CliError::new(Code::Usage, error.to_string())
}

impl<'a> Vault<'a> {
    fn open(book: &'a Notebook, dir: &Path, name: Option<&str>) -> Result<Self, CliError> {
        let opened = NoteDir::open(dir).map_err(|error| unreadable(&error))?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => {
                let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
                real.to_string_lossy().into_owned()
            }
        };
        Ok(Self {
            dir: opened,
            name,
            book,
        })
    }

    /// Reads a file, or says why it cannot be a note.
    fn prepare(&self, path: &Path) -> Result<Prepared, String> {
        let bytes = self.dir.read(path, 2 * MARKDOWN_BYTES_MAX as u64);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let hash = Hash::of(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
        let file = front_matter::read_any(text)?;
        let (id, hash) = match file.fields.id {
            Some(id) => (id, None),
            None => (self.id_of(path), Some(hash)),
        };
        Ok(Prepared {
            path: path.to_owned(),
            id,
            hash,
            file,
        })
    }

    /// Who has no id of their own is known by where they lie, so that taking them in again finds the same note.
    fn id_of(&self, path: &Path) -> NoteId {
        NoteId::derived(&[
            b"import file",
            self.book.workspace.workspace_id.as_bytes(),
            self.name.as_bytes(),
            b"\0",
            path.as_os_str().as_encoded_bytes(),
        ])
    }
}

/// What a file is called without its ending.
fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

/// When a note was made and last written to, as its file says.
fn times(file: &NoteFile, now: Millis) -> (Millis, Millis) {
    let created = file.created.unwrap_or(now);
    (created, file.updated.unwrap_or(created))
}
