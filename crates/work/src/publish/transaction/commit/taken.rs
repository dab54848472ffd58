//! What was put into the user's index beside what he has staged, noted before it is: a commit that is made again after a
//! crash must not put it there twice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::commit_error::CommitError;
use crate::files::{FILE_BYTES_MAX, remove_durably, write_durably};
use bonded_host::regular;

pub(super) struct Taken {
    file: PathBuf,
    objects: BTreeSet<String>,
}

impl Taken {
    pub(super) fn beside(index: &Path) -> Self {
        let file = index.with_extension("staged");
        let text = regular::read_text(&file, FILE_BYTES_MAX).unwrap_or_default();
        let objects = text.lines().map(str::to_owned).collect();
        Self { file, objects }
    }

    /// Whether this object has what the item changed already.
    pub(super) fn has(&self, object: &str) -> bool {
        self.objects.contains(object)
    }

    pub(super) fn note(&self, objects: &[String]) -> Result<(), CommitError> {
        if objects.is_empty() {
            return Ok(());
        }
        let noted = write_durably(&self.file, objects.join("\n").as_bytes());
        noted.map_err(|source| CommitError::Interrupted { source })
    }

    /// When the commit is made. What could not be removed names objects of a commit that is made, and says nothing of
    /// the next.
    pub(super) fn forget(&self) {
        let _ = remove_durably(&self.file);
    }
}
