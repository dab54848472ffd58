//! `bonded export`: the notes of a workspace as Markdown files.
//!
//! One file for each note that is not deleted, with its fields at the head, so that an import gives the same notes
//! back. It needs no server and takes no lock: notes that change meanwhile are written as they are when their turn
//! comes. The directory must be new or empty, and nothing in it is ever overwritten.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use bonded_workspace::store::{NoteFilter, NoteSort, Page};

use crate::args::ExportArgs;
use crate::error::{CliError, Code, store_error};
use crate::output;
use crate::workspace::notebook::Notebook;
use bonded_workspace::front_matter;

/// How many notes are listed at a time; their texts are read one by one.
const PAGE_NOTES: u64 = 500;

/// Notes are listed by when they were made, so that one which is written to meanwhile does not move to another
/// page.
pub(crate) async fn export(args: &ExportArgs) -> Result<ExitCode, CliError> {
    let book = Notebook::open(&args.place).await?;
    empty_dir(&args.dir)?;
    let mut page = Page {
        limit: PAGE_NOTES,
        offset: 0,
    };
    let mut written = 0_u64;
    loop {
        let filter = NoteFilter {
            workspace: book.workspace.workspace_id,
            note_kind: None,
            keyword: None,
            folder: None,
            include_deleted: false,
            sort: NoteSort::Created,
            page,
        };
        let listed = book.store.notes(filter).await.map_err(store_error)?;
        for note in &listed {
            // A note that was deleted since it was listed is left out.
            let note = book.store.note(note.note_id).await.map_err(store_error)?;
            let Some(note) = note.filter(|note| note.deleted_at.is_none()) else {
                continue;
            };
            let path = args.dir.join(front_matter::file_name(&note));
            write_new(&path, &front_matter::write(&note)).map_err(|error| fault(&path, &error))?;
            written += 1;
        }
        if (listed.len() as u64) < PAGE_NOTES {
            break;
        }
        page.offset += PAGE_NOTES;
    }
    output::stderr(&format!("wrote {written} notes to {}", args.dir.display()));
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that is not there: what somebody puts into the directory meanwhile is neither followed nor lost. A file
/// that is there is whole, whatever ends this process: it has another name until it is written.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    // As any new file has them: less the umask.
    let default = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .prefix(".bonded-")
        .permissions(default)
        .tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.persist_noclobber(path)?;
    Ok(())
}

/// Files of before would look like notes of now.
fn empty_dir(dir: &Path) -> Result<(), CliError> {
    fs::create_dir_all(dir).map_err(|error| fault(dir, &error))?;
    let mut found = fs::read_dir(dir).map_err(|error| fault(dir, &error))?;
    if found.next().is_some() {
        let message = format!("{} is not empty", dir.display());
        return Err(CliError::new(Code::Usage, message).hint("choose a new directory"));
    }
    Ok(())
}

/// A path that is not there, or is taken, is the person's to choose; everything else is the disk's.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the system has many kinds of errors, and may get more"
)]
fn fault(path: &Path, error: &std::io::Error) -> CliError {
    use std::io::ErrorKind;
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Code::Usage,
        _ => Code::OutputFailed,
    };
    CliError::new(code, format!("{}: {error}", path.display()))
}
