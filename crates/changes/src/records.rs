//! The directory of all records of a store, which only its owner can look into.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use bonded_kernel::RunId;
use rustix::fs::{FlockOperation, flock};

use crate::error::ChangesError;
use crate::record::Record;

/// How much all records may take together. The oldest go where a new one begins.
const ALL_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// What lies between the name of the store and that of the directory.
const SUFFIX: &str = ".changes";

/// Where undos are noted that are under way; no run has such a name.
const NOTES: &str = ".undoing";

/// Says that an undo is under way.
pub(crate) struct UndoNote(PathBuf);

impl UndoNote {
    pub(crate) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// The undo has come to its end.
    pub(crate) fn remove(&self) {
        // One that stays is looked at again, and removed then.
        let _ = fs::remove_file(&self.0);
    }
}

/// Where the records of a store's runs are, on this machine.
#[derive(Clone, Debug)]
pub struct Records {
    dir: PathBuf,
    bytes_max: u64,
}

impl Records {
    /// Those beside the store whose first file this is.
    pub fn beside(store_file: &Path) -> Self {
        let mut dir = store_file.as_os_str().to_owned();
        dir.push(SUFFIX);
        Self::at(dir.into())
    }

    /// Those in a directory, which need not be there.
    pub fn at(dir: PathBuf) -> Self {
        Self {
            dir,
            bytes_max: ALL_BYTES_MAX,
        }
    }

    /// The same with another bound for all of them.
    #[must_use]
    pub fn within(mut self, bytes_max: u64) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// The file of a run's record.
    pub fn path_of(&self, run: &RunId) -> PathBuf {
        self.dir.join(run.as_str())
    }

    /// The record of a run, to look at it; `None` where nothing was recorded here.
    pub fn of_run(&self, run: &RunId) -> Result<Option<Record>, ChangesError> {
        Record::open(&self.path_of(run))
    }

    /// The same, to undo what it says.
    pub(crate) fn to_write(&self, run: &RunId) -> Result<Option<Record>, ChangesError> {
        Record::open_to_write(&self.path_of(run))
    }

    /// The record of a run, which is begun where it is missing.
    pub(crate) fn begin(&self, run: &RunId, dir: &Path) -> Result<Record, ChangesError> {
        let path = self.path_of(run);
        if !path.exists() {
            let fail = ChangesError::record(&self.dir);
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(&self.dir).map_err(&fail)?;
            self.make_room().map_err(fail)?;
        }
        Record::begin(&path, run, dir)
    }

    /// Notes that an undo of a run is under way, so that any later command finds it.
    pub(crate) fn note(&self, run: &RunId) -> Result<UndoNote, ChangesError> {
        let note = self.note_of(run);
        let fail = ChangesError::record(&note.0);
        let above = self.dir.join(NOTES);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&above).map_err(&fail)?;
        File::create(&note.0).map_err(&fail)?;
        File::open(above)
            .and_then(|dir| dir.sync_all())
            .map_err(&fail)?;
        Ok(note)
    }

    pub(crate) fn note_of(&self, run: &RunId) -> UndoNote {
        UndoNote(self.dir.join(NOTES).join(run.as_str()))
    }

    /// The runs of which an undo was begun, and maybe not ended.
    pub(crate) fn noted(&self) -> Vec<RunId> {
        let entries = fs::read_dir(self.dir.join(NOTES));
        let names = entries.into_iter().flatten().flatten();
        names
            .filter_map(|entry| RunId::new(entry.file_name().to_str()?).ok())
            .collect()
    }

    /// Removes the oldest records until all take less than they may together. One that is being written to stays.
    fn make_room(&self) -> io::Result<()> {
        let mut found = vec![];
        let mut bytes = 0;
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(stat) = entry.metadata() else { continue };
            if stat.is_file() {
                bytes += stat.blocks() * 512;
                let changed = (stat.mtime(), stat.mtime_nsec());
                found.push((changed, stat.blocks() * 512, entry.path()));
            }
        }
        found.sort();
        for (_, size, path) in found {
            if bytes <= self.bytes_max {
                break;
            }
            let file = File::open(&path)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                fs::remove_file(&path)?;
                bytes = bytes.saturating_sub(size);
            }
        }
        Ok(())
    }
}
