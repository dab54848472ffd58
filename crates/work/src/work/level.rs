//! One level: its items are worked off side by side on one common state, then sealed one after the other.
//!
//! All items of a level begin with the same frozen state, so that what one of them does cannot depend on how
//! fast another was. They are sealed in a fixed order after all have ended, whatever the order was in which
//! they did.

use std::collections::BTreeMap;

use bonded_kernel::RunId;
use bonded_work_rules::{ItemId, RunResult, WorkItem};
use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::attempt::AttemptEnd;
use super::item::work_item;
use crate::exchange::Exchange;
use crate::plan::{AttemptOutcome, Level, WorkNews, WorkOrder};
use crate::publish::{Sealer, WorkError};
use crate::tree::Copies;

/// How far a level came.
pub(super) enum LevelEnd {
    Sealed(BTreeMap<ItemId, RunResult>),
    Waits(Vec<RunId>),
}

/// Where calls wait for a person, nothing of the level is sealed yet, not even items that have ended: they keep
/// their outcomes.
pub(super) async fn work_level(
    order: &WorkOrder<'_>,
    copies: &Copies,
    sealer: &mut Sealer<'_>,
    earlier: &BTreeMap<ItemId, RunResult>,
    (number, items): (usize, &[&WorkItem]),
    cancel: &CancellationToken,
) -> Result<LevelEnd, WorkError> {
    if let Some(sealed) = sealer.sealed_before(number, items)? {
        return Ok(LevelEnd::Sealed(sealed));
    }
    if order.interrupt.is_cancelled() {
        return Err(WorkError::Interrupted);
    }
    let frozen = sealer.freeze(number)?;
    (order.watch)(WorkNews::LevelBegun {
        level: number,
        items: items.len(),
        before: frozen.tree.hash(),
    });
    let queue = match &order.queue {
        Some(queue) => {
            let exchange = Exchange::new(order.store.clone(), order.id.clone());
            let sent = exchange.send_tree(&frozen.tree, order.checkpoints);
            Some((queue, sent.await?))
        }
        None => None,
    };
    let ended = earlier.iter().map(|(id, it)| (id.clone(), it.status));
    let ended = ended.collect();
    let level = Level {
        order,
        frozen: &frozen,
        copies,
        queue,
        history: sealer.history(),
        ended: &ended,
    };
    let (outcomes, waiting) = work_items(&level, items, cancel).await?;
    if !waiting.is_empty() {
        return Ok(LevelEnd::Waits(waiting));
    }
    sealer
        .seal_level(number, &frozen, items, outcomes)
        .map(LevelEnd::Sealed)
}

/// Works the items of a level off, some at a time.
///
/// The first error is the one that is reported.
async fn work_items(
    level: &Level<'_>,
    items: &[&WorkItem],
    cancel: &CancellationToken,
) -> Result<(BTreeMap<ItemId, AttemptOutcome>, Vec<RunId>), WorkError> {
    let working = items.iter().map(|item| async move {
        (level.order.watch)(WorkNews::ItemBegun(item));
        let worked = work_item(level, item, cancel).await?;
        if let AttemptEnd::Ended(outcome) = &worked {
            (level.order.watch)(WorkNews::ItemEnded(item, outcome.status));
        }
        Ok::<_, WorkError>((item.id.clone(), worked))
    });
    let mut working = std::pin::pin!(stream::iter(working).buffer_unordered(level.order.jobs));
    let (mut outcomes, mut waiting, mut fault) = (BTreeMap::new(), vec![], None);
    while let Some(worked) = working.next().await {
        match worked {
            Ok((id, AttemptEnd::Ended(outcome))) => drop(outcomes.insert(id, *outcome)),
            Ok((_, AttemptEnd::Waits(run))) => waiting.push(run),
            // The others are driven to their end first: what they did is kept.
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    match fault {
        None => Ok((outcomes, waiting)),
        Some(error) => Err(error),
    }
}
