//! Markdown files of a directory that others may have written, with those of the directories in it: only what lies
//! there is read, never what a link leads to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bonded_tools::beneath::{EntryKind, Links, OpenError, Root};

/// More files are no notes of anybody.
const FILES_MAX: usize = 1_000_000;
/// Directories that lie deeper are left out.
const DEPTH_MAX: usize = 64;

/// A directory of notes.
#[derive(Debug)]
pub struct NoteDir {
    root: Root,
}

/// What a directory holds, by paths that begin at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteFiles {
    /// In the order of their names, those of a directory together.
    pub files: Vec<PathBuf>,
    /// In the order in which they were met, with a reason for a person.
    pub left_out: Vec<LeftOut>,
    /// How many files of other kinds there are, by what their names end in.
    pub others: BTreeMap<String, u64>,
}

/// Something that is named like a note, or may hold notes, and is not looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Begins at the directory.
    pub path: PathBuf,
    /// A reason for a person.
    pub why: &'static str,
}

impl NoteDir {
    /// Opens the directory and holds it: what is read later lies in it, whatever becomes of its name.
    /// The handle stays open: somebody who swaps the directory for a link afterwards changes nothing.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Ok(Self {
            root: Root::open(dir)?,
        })
    }

    /// Everything that is there.
    /// Directories that cannot be read are told, not fatal; only the first one is.
    pub fn list(&self) -> Result<NoteFiles, OpenError> {
        let mut found = NoteFiles::default();
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            let below = self.look_into(&dir, &mut found)?;
            // The last one in is the first one out.
            dirs.extend(below.into_iter().rev());
        }
        Ok(found)
    }

    /// Notes what a directory holds, and says which directories are in it.
    fn look_into(&self, dir: &Path, found: &mut NoteFiles) -> Result<Vec<PathBuf>, OpenError> {
        let is_root = dir.as_os_str().is_empty();
        let entries = match is_root {
            true => self.root.entries(FILES_MAX)?,
            false => {
                let opened = self.root.directory(dir, Links::Refused);
                match opened.and_then(|it| it.entries(FILES_MAX)) {
                    Ok(entries) => entries,
                    Err(_) => {
                        let path = dir.to_owned();
                        let why = "the directory cannot be read";
                        found.left_out.push(LeftOut { path, why });
                        return Ok(vec![]);
                    }
                }
            }
        };
        let mut below = vec![];
        for entry in entries {
            let path = dir.join(&entry.name);
            let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
            let is_note = path
                .extension()
                .is_some_and(|it| it.eq_ignore_ascii_case("md"));
            let why = match entry.kind {
                EntryKind::Directory if is_hidden => Some("hidden directories are skipped"),
                EntryKind::Directory if dir.components().count() >= DEPTH_MAX => {
                    Some("it lies too deep")
                }
                EntryKind::Directory => {
                    below.push(path);
                    continue;
                }
                EntryKind::File if is_hidden && is_note => Some("it is hidden"),
                EntryKind::File if is_note => {
                    if found.files.len() == FILES_MAX {
                        let entries_max = FILES_MAX;
                        return Err(OpenError::TooManyEntries { path, entries_max });
                    }
                    found.files.push(path);
                    continue;
                }
                EntryKind::File => None,
                EntryKind::Link | EntryKind::Other if is_note => Some("it is not a regular file"),
                EntryKind::Link | EntryKind::Other => Some("it is a link, a pipe or a device"),
            };
            match why {
                Some(why) => found.left_out.push(LeftOut { path, why }),
                None => {
                    let kind = path
                        .extension()
                        .map(|it| it.to_string_lossy().to_lowercase());
                    *found.others.entry(kind.unwrap_or_default()).or_default() += 1;
                }
            }
        }
        Ok(below)
    }

    /// The bytes of a file, which are not more than these.
    /// Links are refused again here, because the file may have been replaced since it was listed.
    pub fn read(&self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, OpenError> {
        self.root.read(path, Links::Refused, bytes_max)
    }
}
