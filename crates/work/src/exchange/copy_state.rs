//! What is in the copy of an item between two of its calls.

use bonded_kernel::{Hash, RunId};
use bonded_work_rules::{Change, TreePath};
use serde::{Deserialize, Serialize};

/// The state of the copy that a run works in. It names its run, so that it can be given for no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyState {
    pub(crate) run: RunId,
    /// The tree that the copy was made of.
    pub(crate) before: Hash,
    pub(crate) seen: CopySeen,
}

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "copy", rename_all = "snake_case")]
pub(crate) enum CopySeen {
    /// What differs from the tree. The contents are there too, unless a limit of the item was passed.
    Changed {
        changes: Vec<Change>,
        /// What git would keep.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        git: Vec<TreePath>,
    },
    /// A call has ended while others were under way: nobody can tell what is whose.
    UnderWay,
    /// The worker that had the copy is gone, and it cannot be made again.
    Lost,
    /// It cannot be sent, for this reason.
    Unsent { why: String },
}

impl CopySeen {
    /// Before the first call.
    pub(crate) fn unchanged() -> Self {
        Self::Changed {
            changes: vec![],
            git: vec![],
        }
    }
}

impl CopyState {
    /// The list of so many changes that no item may make them.
    pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it has only texts, numbers and lists")
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
