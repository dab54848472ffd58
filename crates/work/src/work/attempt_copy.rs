//! The copy of the tree that an attempt works in, and its run: those that another process left, or new ones.
//!
//! A run that was interrupted may only go on in a copy that is exactly what its log says it is. If that cannot
//! be had, because the machine was started anew or calls overlapped, the item begins again with a new copy and
//! a new run: half of a change that nobody can account for is never taken for the item's.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bonded_kernel::RunId;
use bonded_tools::is_unfinished;
use bonded_work_rules::{Change, WorkItem};

use super::save_point::{InterruptedCall, SavePointContents};
use crate::plan::{EarlierAttempts, ItemAttempt, Level};
use crate::publish::{CopyMaking, WorkError, copy_with_changes};
use crate::tree::TreeCopy;

/// The item's copy of the tree and the run that works in it.
///
/// The runs of an item are numbered, and the last that has a log is the one to go on with. The number of a new
/// one is written down before its copy is made, since its copy has the same name as the one before.
pub(super) async fn copy_and_run(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &EarlierAttempts,
) -> Result<(TreeCopy, RunId), WorkError> {
    let (order, name) = (level.order, item.id.as_str());
    let mut number = 1;
    let mut run = order.id.run_of(&item.id, number);
    let mut last = None;
    while order.store.head(&run).await?.is_some() {
        last = Some(run);
        number += 1;
        run = order.id.run_of(&item.id, number);
    }
    let item_dir = level.item_dir(item);
    let known = ItemAttempt::read(&item_dir)?;
    let has_begun_again = known.as_ref().is_some_and(|it| it.run == run);
    if let Some(last) = last.filter(|_| !has_begun_again) {
        let copy = match earlier.has(&last) {
            true => None,
            false => {
                let logs = level.logs(&last).await?;
                let interrupted = InterruptedCall::read(&item_dir, &logs)?;
                copy_of(level, item, &last, known, interrupted)?
            }
        };
        if let Some(copy) = copy {
            return Ok((copy, last));
        }
        // The copy that is made now must not be taken for that of the run before.
        let again = ItemAttempt {
            run: run.clone(),
            admitted: None,
        };
        again.write(&item_dir)?;
    }
    let copy = level.copies.make(order.checkpoints, level.frozen, name)?;
    Ok((copy, run))
}

/// The copy that the last run of an item worked in, as it was when the run ended or was left. Nothing where it cannot
/// be had.
///
/// What was admitted comes first: then tests have run in the copy, and what they left there is not the item's.
fn copy_of(
    level: &Level<'_>,
    item: &WorkItem,
    last: &RunId,
    known: Option<ItemAttempt>,
    interrupted: InterruptedCall,
) -> Result<Option<TreeCopy>, WorkError> {
    let checkpoints = level.order.checkpoints;
    let known = known.filter(|it| it.run == *last);
    let name = item.id.as_str();
    let making = CopyMaking {
        copies: level.copies,
        checkpoints,
        frozen: level.frozen,
        name,
    };
    if let Some(changes) = known.and_then(|it| it.admitted) {
        return copy_with_changes(&making, &changes, checkpoints);
    }
    let Some(copy) = level.copies.take_up(checkpoints, level.frozen, name)? else {
        return Ok(None);
    };
    match interrupted {
        InterruptedCall::Nothing => {
            remove_unfinished(&copy)?;
            Ok(Some(copy))
        }
        InterruptedCall::At(changes) => {
            drop(copy);
            let contents = SavePointContents {
                item_dir: &level.item_dir(item),
                checkpoints,
            };
            copy_with_changes(&making, &changes, &contents)
        }
        InterruptedCall::Unknown => Ok(None),
    }
}

/// Removes what a call of a file tool was writing when its process died: it is nobody's change.
///
/// Only what was not in the tree before and bears a name that file tools give to what they are writing.
fn remove_unfinished(copy: &TreeCopy) -> Result<(), WorkError> {
    for Change { path, before, .. } in copy.changes()?.changes {
        let is_meant = path.names().last().is_some_and(is_unfinished);
        if before.is_none() && is_meant {
            let path = Path::new(OsStr::from_bytes(path.as_bytes()));
            std::fs::remove_file(copy.path().join(path))?;
        }
    }
    Ok(())
}
