//! What is to become of a tree, written down before it is touched. The journal is the commit point: once it is
//! there, the changes will be made, or undone as a whole.
//!
//! It is read by whatever process comes next, perhaps one of another version. So it has a number for its
//! format, and one that is not known is refused and never guessed at. It holds all that recovery needs but the
//! contents, which the checkpoints keep.

use std::io;
use std::path::Path;

use bonded_work_rules::{Change, TreePath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::commit::CommitPlan;
use super::error::PublishError;
use super::faults::{DiskOperation, Faults};
use crate::files::{FILE_BYTES_MAX, remove_durably, write_durably};
use bonded_host::regular;

/// Raised where an older program must not go on with what this one writes.
const FORMAT: u32 = 1;

/// The order of the changes is by path; staged files go by their numbers in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) format: Format,
    pub(super) changes: Vec<Change>,
    /// Directories that are opened for writing meanwhile and closed again after, with their modes.
    pub(super) closed: Vec<ClosedDirectory>,
    /// The caller's, for after a recovery.
    pub(super) sealed: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<CommitPlan>,
    pub(super) progress: Progress,
    /// Whether what was replaced waits beside what is staged. Before there was this, it was gone.
    #[serde(default)]
    pub(super) keeps_replaced: bool,
}

/// How far it has come. What is made or undone is not looked at again: from then on the tree is anybody's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Progress {
    Making,
    /// Another changed these paths meanwhile.
    Undoing {
        foreign: Vec<TreePath>,
    },
    Made,
    Undone {
        foreign: Vec<TreePath>,
    },
}

/// Read only from the number that this program writes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub(super) struct Format;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClosedDirectory {
    /// Nothing for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<TreePath>,
    pub(super) mode: u32,
}

impl TryFrom<u32> for Format {
    type Error = String;

    fn try_from(format: u32) -> Result<Self, String> {
        match format {
            FORMAT => Ok(Self),
            other => Err(format!("format {other} is not supported")),
        }
    }
}

impl From<Format> for u32 {
    fn from(Format: Format) -> Self {
        FORMAT
    }
}

impl Journal {
    /// Nothing where there is no journal.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, PublishError> {
        let bytes = match regular::read(path, FILE_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|source| failed(path, source))?,
        };
        let journal = serde_json::from_slice(&bytes);
        journal
            .map(Some)
            .map_err(|source| PublishError::BadJournal {
                journal: path.to_owned(),
                source,
            })
    }

    /// The first write is the commit point; later ones replace it whole.
    pub(super) fn write(&self, path: &Path, faults: &dyn Faults) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        faults.before(DiskOperation::WriteJournal)?;
        write_durably(path, &bytes)
    }

    pub(super) fn remove(path: &Path, faults: &dyn Faults) -> io::Result<()> {
        faults.before(DiskOperation::RemoveJournal)?;
        remove_durably(path)
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> PublishError {
    PublishError::Journal {
        journal: path.to_owned(),
        source,
    }
}
