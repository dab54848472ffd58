//! `bonded import`: Markdown files into a workspace, those of an export as they were, and those of others with their
//! fields as part of the text.
//!
//! Files are read ahead on another thread and taken in by batches, each with one transaction. Taking the same
//! directory in again changes only what differs, because each file leads to the same note: by the id that it names,
//! else by where it lies. A file that cannot be a note stops no other, unless all or nothing is wanted; then
//! everything is read once before the first is taken in.

mod reading;
mod summary;
mod taking;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_kernel::Millis;

use crate::args::ImportArgs;
use crate::error::{CliError, Code};
use crate::output;
use crate::workspace::notebook::Notebook;
use bonded_serve::workspace::clock::now;
use bonded_workspace::front_matter::NoteFile;
use reading::{Ahead, Vault, VaultReader};
use summary::Summary;
use taking::Taking;

/// The exit code is 1 where a file that should be a note is none: what was taken in stays.
pub(crate) async fn import(args: &ImportArgs) -> Result<ExitCode, CliError> {
    let book = Notebook::open(&args.place).await?;
    let workspace = book.workspace.workspace_id;
    let vault = Vault::open(workspace, &args.dir, args.vault.as_deref())?;
    let found = vault.dir.list().map_err(|error| unreadable(&error))?;
    let mut summary = Summary::new(&found);
    if args.all_or_nothing {
        check_all(&vault, &found.files)?;
    }
    let now = now();
    let mut ahead = Ahead::begin(VaultReader::new(vault, found.files));
    while let Some((batch, next)) = ahead.next().await? {
        ahead = next;
        for (path, why) in &batch.broken {
            summary.not_taken(path, why);
        }
        Taking::new(&book, args.overwrite, now)
            .take(batch.prepared, &mut summary)
            .await?;
    }
    for line in summary.lines() {
        output::stderr(&line);
    }
    Ok(ExitCode::from(u8::from(summary.is_incomplete())))
}

/// Reads everything before the first file is taken in.
/// Costs a second reading: the files may be far more than memory holds. What changes between the two is met by the
/// second.
fn check_all(vault: &Vault, paths: &[PathBuf]) -> Result<(), CliError> {
    let broken: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let why = vault.prepare(path).err()?;
            Some(summary::line(path, &why))
        })
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    let message = format!("nothing was imported: {} files are broken", broken.len());
    let error = CliError::new(Code::Usage, message);
    Err(broken
        .into_iter()
        .take(summary::LINES_MAX)
        .fold(error, CliError::hint))
}

fn unreadable(error: &dyn std::error::Error) -> CliError {
    CliError::new(Code::Usage, error.to_string())
}

/// What a file is called without its ending.
fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

/// When a note was made and last written to, as its file says.
/// Without a time of change it is that of the making; without either, both are now.
fn times(file: &NoteFile, now: Millis) -> (Millis, Millis) {
    let created = file.created.unwrap_or(now);
    (created, file.updated.unwrap_or(created))
}
