//! How far an item has come, beyond what the log of its run says.
//!
//! Tests may leave anything in the item's copy of the tree. A process that goes on after one that died in the middle
//! of them must not take that for the item's; so what was admitted is kept before they begin.

use std::io;
use std::path::Path;

use bonded_kernel::RunId;
use bonded_work_rules::Change;
use serde::{Deserialize, Serialize};

use crate::files::{read_json, write_durably};

/// One run of an item, and the copy of the tree that is the run's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemAttempt {
    pub(crate) run: RunId,
    /// What the tests began with, if they did. Its contents are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) admitted: Option<Vec<Change>>,
}

impl ItemAttempt {
    const FILE: &str = "attempt.json";

    /// Nothing where there is only what the log says.
    pub(crate) fn read(item_dir: &Path) -> io::Result<Option<Self>> {
        read_json(&item_dir.join(Self::FILE))
    }

    /// In its own file in the directory of the item, durably.
    pub(crate) fn write(&self, item_dir: &Path) -> io::Result<()> {
        write_durably(&item_dir.join(Self::FILE), &serde_json::to_vec(self)?)
    }
}
