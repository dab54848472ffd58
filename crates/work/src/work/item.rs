//! One item: as many attempts as it may have, up to the point where it could be published.
//!
//! An item is begun only once by a plan: its outcome is written when it has ended, and read from then on.
//! Retries are for attempts that failed or took too long. What was denied is not tried again, because a limit
//! or a rule forbids it and not chance.

use bonded_work_rules::{WorkItem, WorkStatus, missing_inputs};
use tokio_util::sync::CancellationToken;

use super::attempt::{AttemptEnd, run_attempt};
use super::save_point;
use crate::plan::{AttemptOutcome, EarlierAttempts, Level, WorkNews};
use crate::publish::WorkError;

/// Works one item off in its own copy, up to the point where it could be published.
///
/// An item whose outcome is gone and that has a receipt is an error: to run it again could publish it twice.
pub(super) async fn work_item(
    level: &Level<'_>,
    item: &WorkItem,
    cancel: &CancellationToken,
) -> Result<AttemptEnd, WorkError> {
    let item_dir = level.item_dir(item);
    if let Some(outcome) = AttemptOutcome::read(&item_dir)? {
        return Ok(AttemptEnd::Ended(Box::new(outcome)));
    }
    if level.history.of(&level.order.id, &item.id).is_some() {
        return Err(WorkError::SealedBefore {
            item: item.id.to_string(),
        });
    }
    let outcome = match begin(level, item) {
        Err(outcome) => outcome,
        Ok(()) => match try_often(level, item, cancel).await? {
            AttemptEnd::Ended(outcome) => outcome,
            waits @ AttemptEnd::Waits(_) => return Ok(waits),
        },
    };
    outcome.write(&item_dir)?;
    save_point::forget(&item_dir)?;
    Ok(AttemptEnd::Ended(outcome))
}

/// Whether the item can begin at all.
///
/// An item that waits for one that did not succeed fails here without a run, and still gets a receipt.
fn begin(level: &Level<'_>, item: &WorkItem) -> Result<(), Box<AttemptOutcome>> {
    let why = level.blocked(item);
    let why = why.or_else(|| missing_inputs(item, level.before()));
    match why {
        None => Ok(()),
        Some(why) => Err(Box::new(AttemptOutcome::failed(why))),
    }
}

/// Begins the item again, in a new copy, as often as it may be where it fails or takes too long.
///
/// An attempt is noted as an earlier one before the next begins. A crash in between leads to the next one, and
/// never to one more than there may be.
async fn try_often(
    level: &Level<'_>,
    item: &WorkItem,
    cancel: &CancellationToken,
) -> Result<AttemptEnd, WorkError> {
    let item_dir = level.item_dir(item);
    let mut earlier = EarlierAttempts::read(&item_dir)?;
    loop {
        let mut outcome = match Box::pin(run_attempt(level, item, &earlier, cancel)).await? {
            AttemptEnd::Ended(outcome) => outcome,
            waits @ AttemptEnd::Waits(_) => return Ok(waits),
        };
        let has_failed = matches!(outcome.status, WorkStatus::Failure | WorkStatus::Timeout);
        let is_left = earlier.count() < item.retries && !cancel.is_cancelled();
        // Where no run came about, none would the next time.
        if !has_failed || !is_left || outcome.capsule.is_none() {
            outcome.earlier_attempts = earlier.attempts;
            return Ok(AttemptEnd::Ended(outcome));
        }
        earlier.add(&outcome);
        earlier.write(&item_dir)?;
        let why = outcome.error.as_deref().unwrap_or_default();
        (level.order.watch)(WorkNews::ItemAgain(item, earlier.count(), why));
    }
}
