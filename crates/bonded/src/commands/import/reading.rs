//! Reads the files of a directory, some thousands at a time, on a thread of its own: the next are read while the last are
//! taken in.
//!
//! Only this thread reads the files, and never more than one batch ahead, so that memory holds two batches at most.
//! Files are opened below the directory alone: a link that leads out of it is not followed, as `NoteDir` sees to.

use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, NoteId, WorkspaceId};
use bonded_workspace::NoteDir;
use bonded_workspace_rules::MARKDOWN_BYTES_MAX;

use super::unreadable;
use crate::error::CliError;
use bonded_workspace::front_matter::{self, NoteFile};

/// Files that are taken in with one transaction: all of them, whatever becomes of the process. Each transaction writes
/// the same pages of the store's indexes anew, so that more of them take longer; fewer keep others waiting who write too.
const FILES_AT_ONCE: usize = 5000;

/// The same in bytes; the last file may go beyond.
const BYTES_AT_ONCE: usize = 8 << 20;

/// The directory that is taken in.
pub(super) struct Vault {
    pub(super) dir: NoteDir,
    /// What tells it from other directories: the same one is the same wherever it lies.
    name: String,
    workspace: WorkspaceId,
}

/// A file that was read.
pub(super) struct VaultFile {
    /// Beginning at the directory.
    pub(super) path: PathBuf,
    pub(super) id: NoteId,
    /// Of the whole file, where the note is known by where its file lies.
    pub(super) hash: Option<Hash>,
    pub(super) file: NoteFile,
}

/// Files that are taken in together.
#[derive(Default)]
pub(super) struct FileBatch {
    pub(super) prepared: Vec<VaultFile>,
    /// Those that cannot be notes, and why.
    pub(super) broken: Vec<(PathBuf, String)>,
}

impl Vault {
    /// Without a name, the real path of the directory is its name: it must be the same each time, or its notes come
    /// twice.
    pub(super) fn open(
        workspace: WorkspaceId,
        dir: &Path,
        name: Option<&str>,
    ) -> Result<Self, CliError> {
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
            workspace,
        })
    }

    /// Reads a file, or says why it cannot be a note.
    /// Twice the most that a note may hold is read, since the head of a file takes room too; whether the text is
    /// too long is the store's to say.
    pub(super) fn prepare(&self, path: &Path) -> Result<VaultFile, String> {
        let bytes = self.dir.read(path, 2 * MARKDOWN_BYTES_MAX as u64);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let hash = Hash::of(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let file = front_matter::read_any(text)?;
        let (id, hash) = match file.fields.id {
            Some(id) => (id, None),
            None => (self.id_of(path), Some(hash)),
        };
        Ok(VaultFile {
            path: path.to_owned(),
            id,
            hash,
            file,
        })
    }

    /// Who has no id of their own is known by where they lie, so that taking them in again finds the same note.
    /// The zero byte ends the vault's name: no name and path can be taken for another pair.
    fn id_of(&self, path: &Path) -> NoteId {
        NoteId::derived(&[
            b"import file",
            self.workspace.as_bytes(),
            self.name.as_bytes(),
            b"\0",
            path.as_os_str().as_encoded_bytes(),
        ])
    }
}

/// What is left to read.
pub(super) struct VaultReader {
    vault: Vault,
    paths: std::vec::IntoIter<PathBuf>,
}

impl VaultReader {
    pub(super) fn new(vault: Vault, paths: Vec<PathBuf>) -> Self {
        let paths = paths.into_iter();
        Self { vault, paths }
    }

    /// The next files; none where all were read.
    /// Broken files count too, so that a directory of nothing else is read in pieces all the same.
    fn batch(&mut self) -> Option<FileBatch> {
        let mut batch = FileBatch::default();
        let mut bytes = 0;
        for path in self.paths.by_ref() {
            match self.vault.prepare(&path) {
                Ok(one) => {
                    bytes += one.file.markdown.len();
                    batch.prepared.push(one);
                }
                Err(why) => batch.broken.push((path, why)),
            }
            if batch.len() >= FILES_AT_ONCE || bytes >= BYTES_AT_ONCE {
                break;
            }
        }
        (batch.len() > 0).then_some(batch)
    }
}

impl FileBatch {
    /// Of both kinds.
    fn len(&self) -> usize {
        self.prepared.len() + self.broken.len()
    }
}

/// A batch that is being read, and what is left then.
pub(super) struct Ahead(tokio::task::JoinHandle<(VaultReader, Option<FileBatch>)>);

impl Ahead {
    /// Begins at once; whoever drops it loses the batch, and nothing else.
    pub(super) fn begin(mut reading: VaultReader) -> Self {
        Self(tokio::task::spawn_blocking(move || {
            let batch = reading.batch();
            (reading, batch)
        }))
    }

    /// The batch, while the next one is read already; none where all were read.
    pub(super) async fn next(self) -> Result<Option<(FileBatch, Self)>, CliError> {
        let (reading, batch) = self.0.await.map_err(|error| unreadable(&error))?;
        Ok(batch.map(|batch| (batch, Self::begin(reading))))
    }
}
