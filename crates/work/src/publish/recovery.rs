//! What a process that died left of a publish, brought to its end.
//!
//! There are three cases. The receipt was written before the crash, and its files are completed. The changes
//! are made, and the receipt in the journal is written. Or they were undone because somebody changed the tree
//! meanwhile, and a receipt of a failure takes its place. Each can be done again until the journal is gone.

use bonded_kernel::Hash;
use bonded_work_rules::{ItemOutcome, TreePath, WorkStatus};

use super::error::WorkError;
use super::item::undone;
use super::item_files::ItemFiles;
use super::receipts::Receipts;
use super::transaction::{Publish, Settlement};
use crate::plan::Recovery;

/// Goes on where a process stopped that was publishing to this tree. The item may be another plan's.
pub(super) fn recover(receipts: &mut Receipts<'_>) -> Result<Option<Recovery>, WorkError> {
    let order = receipts.order;
    let journal = order.journal();
    let publish = Publish::new(&order.root, &journal, order.checkpoints)?;
    let publish = publish.with_writers(order.writers);
    let Some(settled) = publish.recover()? else {
        return Ok(None);
    };
    let mut files: ItemFiles = serde_json::from_value(settled.sealed().clone())?;
    let foreign = match settled.settlement() {
        Settlement::Published { .. } => vec![],
        Settlement::Undone { foreign } => foreign.clone(),
    };
    let item = files.receipt.outcome.work_item.clone();
    if let Some(receipt) = receipts.begun(&files.plan, &item, &files.dir) {
        // It was known already what came of it.
        let output = files.result.test_output.clone();
        files = receipts.files_of(&files.dir, &files.plan, receipt, output);
    } else if !foreign.is_empty() {
        let tree = order.checkpoints.freeze_patiently(&order.root)?.tree;
        let outcome = unpublished(&files.receipt.outcome, tree.hash(), &foreign);
        files = receipts.seal_in(&files.dir, &files.plan, outcome, None);
    }
    receipts.write(&files)?;
    settled.finish()?;
    Ok(Some(Recovery {
        item: item.id,
        foreign,
    }))
}

/// The same item, of which nothing was published after all.
///
/// What it did and what it cost is kept; what it changed is not, since nothing of it is in the tree.
fn unpublished(published: &ItemOutcome, tree: Hash, foreign: &[TreePath]) -> ItemOutcome {
    let failed = ItemOutcome::unpublished(
        uuid::Uuid::new_v4().to_string(),
        published.plan_id.clone(),
        published.level,
        published.work_item.clone(),
        WorkStatus::Failure,
        tree,
    );
    ItemOutcome {
        error: Some(undone(foreign)),
        before_hash: published.before_hash,
        after_hash: published.before_hash,
        tool_trace: published.tool_trace.clone(),
        metrics: published.metrics,
        tests: published.tests.clone(),
        run: published.run.clone(),
        versions: published.versions.clone(),
        changed_meanwhile: true,
        earlier_attempts: published.earlier_attempts.clone(),
        ..failed
    }
}
