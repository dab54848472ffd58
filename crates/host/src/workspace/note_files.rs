//! Markdown files of a directory that somebody else may have written: only what lies in it is read, never what a link
//! leads to.

use std::path::{Path, PathBuf};

use bonded_tools::beneath::{EntryKind, Links, OpenError, Root};

/// More files are no notes of anybody.
const FILES_MAX: usize = 100_000;

/// What a directory holds of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteFiles {
    /// Each file with its bytes, in the order of their names.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What is called like a note and is no regular file: a link, a pipe, a directory.
    pub left_out: Vec<PathBuf>,
}

/// Reads every `.md` file that lies in a directory, none of them longer than `bytes_max`.
pub fn read_note_files(dir: &Path, bytes_max: u64) -> Result<NoteFiles, OpenError> {
    let root = Root::open(dir)?;
    let mut found = NoteFiles::default();
    for entry in root.entries(FILES_MAX)? {
        let name = PathBuf::from(&entry.name);
        if name.extension().is_none_or(|it| it != "md") {
            continue;
        }
        match entry.kind {
            EntryKind::File => {
                let bytes = root.read(&name, Links::Refused, bytes_max)?;
                found.files.push((dir.join(name), bytes));
            }
            _ => found.left_out.push(dir.join(name)),
        }
    }
    found.files.sort();
    Ok(found)
}
