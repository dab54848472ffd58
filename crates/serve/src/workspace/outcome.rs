//! What a write left, as the body that its route promises.
//!
//! The store says what a write left in one type for all; a route knows which it must be. Anything else is a fault of
//! ours and is told as one.

use bonded_workspace::store::WriteOutcome;

use super::dto::{Note, RunAnswer, Workspace};
use super::refusal::WorkspaceRefusal;

/// A route that writes one kind of thing is left with no other.
fn nothing_to_show() -> WorkspaceRefusal {
    WorkspaceRefusal::internal("the write left nothing to show")
}

impl TryFrom<&WriteOutcome> for Note {
    type Error = WorkspaceRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, WorkspaceRefusal> {
        let WriteOutcome::Note(note) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(&**note))
    }
}

impl TryFrom<&WriteOutcome> for Workspace {
    type Error = WorkspaceRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, WorkspaceRefusal> {
        let WriteOutcome::Workspace(workspace) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(workspace))
    }
}

impl TryFrom<&WriteOutcome> for RunAnswer {
    type Error = WorkspaceRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, WorkspaceRefusal> {
        let WriteOutcome::Run(run) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(&**run))
    }
}
