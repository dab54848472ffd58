//! The names of runs and goals.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// The longest id that a caller may choose.
pub const RUN_ID_BYTES_MAX: usize = 128;

/// Names one run. Chosen by the caller or drawn by the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RunId(Arc<str>);

/// Why a text cannot name a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "run id {id:?} is not usable: 1 to {RUN_ID_BYTES_MAX} letters, digits, '.', '_' or '-', beginning with a letter or digit"
)]
pub struct BadRunId {
    /// What was given, up to [`RUN_ID_BYTES_MAX`] characters of it.
    pub id: String,
}

impl RunId {
    /// The characters are few because ids become names of files and parts of addresses.
    pub fn new(id: &str) -> Result<Self, BadRunId> {
        let well_formed = (1..=RUN_ID_BYTES_MAX).contains(&id.len())
            && id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if well_formed {
            Ok(Self(id.into()))
        } else {
            let id = id.chars().take(RUN_ID_BYTES_MAX).collect();
            Err(BadRunId { id })
        }
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = BadRunId;

    fn try_from(id: String) -> Result<Self, BadRunId> {
        Self::new(&id)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names what is asked. Equal goals have equal ids, so that the runs of one goal can be found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GoalId(Arc<str>);

impl GoalId {
    /// Half of the hash of the goal, in sixteen hexadecimal digits.
    pub fn of(goal: &str) -> Self {
        let hex = Hash::of(goal.as_bytes()).to_string();
        Self(hex[..16].into())
    }

    /// For a store that reads back what it was given.
    pub fn from_stored(id: &str) -> Self {
        Self(id.into())
    }

    /// Sixteen hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
