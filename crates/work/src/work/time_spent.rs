//! How long an item's run was driven, noted while it is: its log says nothing of the time inside a call that a process
//! did not live to see the end of.
//!
//! Otherwise an item whose process is killed again and again in the middle of long calls would have more time
//! than it may. The note is small and written in place a few times a second, without a sync.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bonded_kernel::RunId;
use serde::{Deserialize, Serialize};

use crate::files::{PRIVATE_FILE, read_if_there, read_json};

/// How often it is noted: so much may be missing.
pub(crate) const NOTED_EVERY: Duration = Duration::from_millis(250);

/// More than a note takes.
const NOTE_BYTES: usize = 512;
const FILE: &str = "spent.json";

/// The run is named, since the next attempt has its own time.
#[derive(Debug, Serialize, Deserialize)]
struct TimeNote {
    run: RunId,
    spent_ms: u64,
}

/// The time of one run.
#[derive(Debug)]
pub(crate) struct TimeSpent {
    file: PathBuf,
    run: RunId,
    /// By processes before this one.
    pub(crate) before_ms: u64,
}

impl TimeSpent {
    /// Zero for a run that nobody has driven yet.
    pub(crate) fn read(item_dir: &Path, run: &RunId) -> io::Result<Self> {
        let file = item_dir.join(FILE);
        // A process that was killed when it had made the file has noted nothing.
        let is_noted = read_if_there(&file)?.is_some_and(|bytes| !bytes.is_empty());
        let noted: Option<TimeNote> = if is_noted { read_json(&file)? } else { None };
        let noted = noted.filter(|noted| noted.run == *run);
        Ok(Self {
            file,
            run: run.clone(),
            before_ms: noted.map_or(0, |noted| noted.spent_ms),
        })
    }

    /// Notes what this process has added. It need not outlive the machine: a run that does begins with another copy.
    pub(crate) fn note(&self, own_ms: u64) {
        let noted = TimeNote {
            run: self.run.clone(),
            spent_ms: self.before_ms.saturating_add(own_ms),
        };
        // Without it less time is counted.
        let _ = serde_json::to_vec(&noted)
            .map_err(io::Error::from)
            .and_then(|text| self.write(text));
    }

    /// Writes in place, in one go and always as much: whoever is killed leaves the last note or this one, and nothing
    /// beside it.
    fn write(&self, mut text: Vec<u8>) -> io::Result<()> {
        text.resize(text.len().max(NOTE_BYTES), b' ');
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE_FILE)
            .open(&self.file)?;
        file.write_all_at(&text, 0)
    }
}
