//! How long an item's run was driven, noted while it is: its log says nothing of the time inside a call that a process
//! did not live to see the end of.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bonded_kernel::RunId;
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_quickly};

/// How often it is noted: so much may be missing.
pub(super) const NOTED_EVERY: Duration = Duration::from_millis(250);

const FILE: &str = "spent.json";

#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    run: RunId,
    spent_ms: u64,
}

/// The time of one run.
#[derive(Debug)]
pub(super) struct Spent {
    file: PathBuf,
    run: RunId,
    /// By processes before this one.
    pub(super) before_ms: u64,
}

impl Spent {
    pub(super) fn read(item_dir: &Path, run: &RunId) -> io::Result<Self> {
        let file = item_dir.join(FILE);
        let noted: Option<Noted> = read_json(&file)?;
        let noted = noted.filter(|noted| noted.run == *run);
        Ok(Self {
            file,
            run: run.clone(),
            before_ms: noted.map_or(0, |noted| noted.spent_ms),
        })
    }

    /// Notes what this process has added. It need not outlive the machine: a run that does begins with another copy.
    pub(super) fn note(&self, own_ms: u64) {
        let noted = Noted {
            run: self.run.clone(),
            spent_ms: self.before_ms.saturating_add(own_ms),
        };
        // Without it less time is counted.
        let _ = serde_json::to_vec(&noted)
            .map_err(io::Error::from)
            .and_then(|text| write_quickly(&self.file, &text));
    }
}
