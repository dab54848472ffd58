//! How a work item stands, and which moves there are.

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

/// How an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    Queued,
    Running,
    Ended(WorkStatus),
}

/// A move that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an item that is {from} cannot become {to}")]
pub struct BadMove {
    pub from: &'static str,
    pub to: &'static str,
}

impl ItemState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Ended(status) => status.as_str(),
        }
    }

    /// The next state. An item that never ran can fail, because of a dependency, or be denied, and not succeed;
    /// what has ended stays so.
    pub fn to(self, next: Self) -> Result<Self, BadMove> {
        let is_move = match (self, next) {
            (Self::Queued, Self::Running) | (Self::Running, Self::Ended(_)) => true,
            (Self::Queued, Self::Ended(status)) => {
                matches!(status, WorkStatus::Failure | WorkStatus::Denied)
            }
            _ => false,
        };
        match is_move {
            true => Ok(next),
            false => Err(BadMove {
                from: self.as_str(),
                to: next.as_str(),
            }),
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
