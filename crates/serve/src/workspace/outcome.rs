//! What a write left, as the body that its route promises.
//!
//! The store says what a write left in one type for all; a route knows which it must be. Anything else is a fault of
//! ours and is told as one.

use bonded_workspace::store::WriteOutcome;

use super::dto::{Note, RunAnswer, Workspace};
use crate::json_api::refusal::ApiRefusal;

/// A route that writes one kind of thing is left with no other.
fn nothing_to_show() -> ApiRefusal {
    ApiRefusal::internal("the write left nothing to show")
}

impl TryFrom<&WriteOutcome> for Note {
    type Error = ApiRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, ApiRefusal> {
        let WriteOutcome::Note(note) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(&**note))
    }
}

impl TryFrom<&WriteOutcome> for Workspace {
    type Error = ApiRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, ApiRefusal> {
        let WriteOutcome::Workspace(workspace) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(workspace))
    }
}

impl TryFrom<&WriteOutcome> for RunAnswer {
    type Error = ApiRefusal;

    fn try_from(outcome: &WriteOutcome) -> Result<Self, ApiRefusal> {
        let WriteOutcome::Run(run) = outcome else {
            return Err(nothing_to_show());
        };
        Ok(Self::from(&**run))
    }
}
