//! What an item's run has left, wherever its copy is.

use bonded_work_rules::Change;

use super::error::WorkError;
use crate::exchange::{Exchange, contents_after};
use crate::plan::Level;
use crate::tree::{Changed, TreeCopy};

/// The copy itself, or what another machine says of it. What it says is judged by the same rules.
pub(crate) enum LeftCopy<'a> {
    /// It is on this machine.
    Here(&'a TreeCopy),
    /// It was on another machine, which has sent what differs.
    Sent {
        exchange: &'a Exchange,
        changed: Changed,
    },
}

impl LeftCopy<'_> {
    /// What is different in it from what was frozen.
    pub(super) fn changed(&self) -> Result<Changed, WorkError> {
        match self {
            Self::Here(copy) => Ok(copy.changes()?),
            Self::Sent { changed, .. } => Ok(changed.clone()),
        }
    }

    /// Keeps the contents that changes end with, durably.
    pub(super) async fn keep(
        &self,
        level: &Level<'_>,
        changes: &[Change],
    ) -> Result<(), WorkError> {
        match self {
            Self::Here(copy) => Ok(level.keep(copy, changes)?),
            Self::Sent { exchange, .. } => {
                let contents = contents_after(changes);
                let checkpoints = level.order.checkpoints;
                Ok(exchange.fetch_contents(checkpoints, &contents).await?)
            }
        }
    }

    /// The copy in which the tests run, where it still shows what was frozen.
    pub(super) fn standing(&self, level: &Level<'_>) -> Option<&TreeCopy> {
        match self {
            Self::Here(copy) => level.stands(copy).then_some(*copy),
            Self::Sent { .. } => None,
        }
    }

    /// Why the tests run in another copy than the run did, as far as somebody else has to do with it.
    pub(super) fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}
