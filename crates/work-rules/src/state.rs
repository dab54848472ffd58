//! How a work item ended, and what that means for those that depend on it.

use serde::{Deserialize, Serialize};

use super::item::{ItemId, WorkItem};

/// How an item ended, in the words of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// Its changes are published.
    Success,
    /// Its run, its tests or its publishing failed.
    Failure,
    /// Its changes were not admitted.
    Denied,
    /// It took longer than it may.
    Timeout,
}

impl WorkStatus {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Denied, Self::Timeout];

    /// The word that results and receipts use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
        }
    }
}

/// Why an item cannot run: the first of its dependencies that ended otherwise than well. `ended` says how each
/// ended; what was done before the plan has no entry there.
pub fn blocked(item: &WorkItem, ended: impl Fn(&ItemId) -> Option<WorkStatus>) -> Option<String> {
    let mut dependencies = item.dependencies.iter();
    dependencies.find_map(|id| {
        let status = ended(id).filter(|status| *status != WorkStatus::Success)?;
        Some(format!("Blocked by dependency {id}: {}", status.as_str()))
    })
}
