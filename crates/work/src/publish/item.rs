//! One item whose changes are ready: held against what others published, then brought to the tree, and written down.
//!
//! The order upholds the guarantee. The lock is taken and the last look at duplicates is made under it. Then
//! the receipt is drawn up and room for it is taken. Then the journal is written with the receipt in it, which
//! is the point of no return. Then the tree is changed, the receipt is written, and last the journal goes. A
//! crash at any point leaves the journal or what follows from it.

use bonded_work_rules::{Capsule, Change, Denial, ItemOutcome, Receipt, Tree, TreePath, WorkItem};

use super::duplicate::{self, AdmissionLock};
use super::error::WorkError;
use super::item_files::ItemFiles;
use super::meeting::meet;
use super::receipts::Receipts;
use super::transaction::{CommitPlan, MadeCommit, Publish, PublishError, ReplacedFile, Settlement};
use crate::plan::{WorkNews, WorkOrder};

/// An item that has succeeded in its copy.
pub(super) struct ReadyItem<'a> {
    pub(super) item: &'a WorkItem,
    /// The receipts of the items before it in its level.
    pub(super) earlier: &'a [Receipt],
    /// What became of it, with nothing of it published.
    pub(super) base: ItemOutcome,
    pub(super) capsule: &'a Capsule,
    pub(super) test_output: Option<String>,
}

/// Publishes an item to the tree, or says why not. Adds to `replaced` the files whose place others took.
///
/// `tree` is what the tree is known to be, and becomes what it is after this. An item that turns out to be
/// undone is sealed as a failure in the same place of the chain, in place of the receipt that was prepared.
pub(super) fn publish_item(
    receipts: &mut Receipts<'_>,
    ready: ReadyItem<'_>,
    tree: &mut Tree,
    replaced: &mut Vec<ReplacedFile>,
) -> Result<ItemFiles, WorkError> {
    let ReadyItem {
        item,
        earlier,
        base,
        capsule,
        test_output,
    } = ready;
    let order = receipts.order;
    let changes: Vec<Change> = capsule.deltas.changes().into_iter().cloned().collect();
    let _lock = AdmissionLock::acquire(&order.workshop)?;
    if let Some(denial) = duplicate(order, capsule)? {
        return Ok(receipts.seal_denied(base, &denial, test_output));
    }
    let meeting = match meet(tree, &changes, earlier, order.checkpoints)? {
        Ok(meeting) => meeting,
        Err(clashes) => return Ok(receipts.seal_denied(base, &clashes.into(), test_output)),
    };
    let (before, after) = (tree.hash(), meeting.after.hash());
    let mut published = base.clone().published(capsule, before, after);
    published.merged = meeting.merged;
    let changes = meeting.changes;
    if changes.is_empty() {
        return Ok(receipts.seal(published, test_output));
    }
    let journal = order.journal();
    let publish = Publish::new(&order.root, &journal, order.checkpoints)?;
    let publish = publish.with_writers(order.writers);
    let clashes = publish.check(&changes)?;
    if !clashes.is_empty() {
        return Ok(receipts.seal_denied(base, &clashes.into(), test_output));
    }
    let files = receipts.seal(published, test_output.clone());
    let commit = commit_plan(order, item, &files.receipt)?;
    let reservation = files.reserve_space()?;
    let prepared = match publish.prepare(&changes, serde_json::to_value(&files)?, commit) {
        Ok(prepared) => prepared,
        Err(error) => {
            let why = why_not_published(error)?;
            return Ok(receipts.seal_failed(base, why, test_output));
        }
    };
    let mut settled = prepared.apply()?;
    replaced.extend(settled.take_replaced());
    let files = match settled.settlement() {
        Settlement::Published { commit } => {
            show_uncommitted(order, item, commit.as_ref());
            *tree = meeting.after;
            files
        }
        Settlement::Undone { foreign } => {
            let base = ItemOutcome {
                changed_meanwhile: true,
                ..base
            };
            receipts.seal_failed(base, undone(foreign), test_output)
        }
    };
    drop(reservation);
    receipts.write(&files)?;
    settled.finish()?;
    Ok(files)
}

/// Shows what is published and in no commit.
fn show_uncommitted(order: &WorkOrder<'_>, item: &WorkItem, commit: Option<&MadeCommit>) {
    let left_out = commit.iter().flat_map(|it| &it.left_out);
    left_out.for_each(|path| (order.watch)(WorkNews::NotCommitted(item, path)));
    let overlapping = commit.iter().flat_map(|it| &it.overlapping);
    overlapping.for_each(|path| (order.watch)(WorkNews::Uncommitted(item, path)));
}

/// What an item fails with whose changes cannot be prepared. Where it is not the item's fault, the plan stops.
fn why_not_published(error: PublishError) -> Result<String, WorkError> {
    match error {
        // Nothing is wrong with the item: it is published when there is room.
        PublishError::Untouched { tree, source, .. } if is_full(&source) => {
            Err(WorkError::NoRoom { tree, source })
        }
        PublishError::Untouched { .. }
        | PublishError::Reserved { .. }
        | PublishError::Special { .. }
        | PublishError::SetId { .. } => Ok(error.to_string()),
        PublishError::Unfinished { .. }
        | PublishError::Uncommitted { .. }
        | PublishError::Stage { .. }
        | PublishError::Unreadable { .. }
        | PublishError::Unrecovered { .. }
        | PublishError::OtherStore { .. }
        | PublishError::StageTaken { .. }
        | PublishError::BadJournal { .. }
        | PublishError::Journal { .. } => Err(error.into()),
    }
}

/// Whether another plan has published the same since the item was admitted.
///
/// It was asked at admission as well; since then another plan may have published the same.
fn duplicate(order: &WorkOrder<'_>, capsule: &Capsule) -> Result<Option<Denial>, WorkError> {
    if order.again || capsule.deltas.is_empty() {
        return Ok(None);
    }
    let content_hash = capsule.content_hash;
    let before = duplicate::find(&order.workshop, &order.root, &content_hash)?;
    Ok(before.map(|receipt_id| Denial::Duplicate {
        content_hash,
        receipt_id,
    }))
}

/// The commit names the receipt and has its time, so that making it again gives the same commit.
fn commit_plan(
    order: &WorkOrder<'_>,
    item: &WorkItem,
    receipt: &Receipt,
) -> Result<Option<CommitPlan>, WorkError> {
    if !order.commit {
        return Ok(None);
    }
    let hash = receipt.receipt_hash.to_string();
    let seconds = receipt.sealed_at.0 / 1000;
    Ok(Some(CommitPlan::new(
        &order.root,
        &item.description,
        &hash,
        seconds,
    )?))
}

/// Of the disk or of the quota of the user.
fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Why an item failed whose changes were undone.
pub(super) fn undone(foreign: &[TreePath]) -> String {
    let paths: Vec<String> = foreign.iter().map(ToString::to_string).collect();
    format!(
        "Not published: {} changed by another, or open for writing there, while it was published",
        paths.join(", ")
    )
}
