//! The skills that a run offers: folders of instructions that the model reads when it needs them.
//!
//! The offer itself, names with descriptions, stands in the system text. Here is what a host needs in order to read the
//! folders later, and to know that they are still what they were.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// A skill as it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OfferedSkill {
    /// Unique among the skills of the run.
    pub name: String,
    /// The folder, absolute and without links.
    pub dir: String,
    /// The files that may be read, by their paths in the folder, with the hashes of their contents. A file that has
    /// another hash by now, or is not among them, is not read.
    pub files: BTreeMap<String, Hash>,
}
