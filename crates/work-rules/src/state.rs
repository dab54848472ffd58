//! How a work item ended, and what that means for those that depend on it.

use serde::{Deserialize, Serialize};

use super::item::{ItemId, WorkItem};

/// How an item ended, in the words of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    Success,
    Failure,
    Denied,
    Timeout,
}

impl WorkStatus {
    pub const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Denied, Self::Timeout];

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
