//! What a process that died left of a publish, brought to its end.

use std::fmt;

use bonded_kernel::Hash;
use bonded_work_rules::{ItemId, ItemOutcome, TreePath, WorkStatus};

use super::error::WorkError;
use super::papers::Papers;
use super::publish::{Outcome, Publish};
use super::seal::{Sealer, undone};

/// What was found and done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    pub item: ItemId,
    /// Where this is not empty, nothing was published: these were changed meanwhile.
    pub foreign: Vec<TreePath>,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        match self.foreign.as_slice() {
            [] => write!(
                f,
                "item {item} was being published when a process died: it is published now"
            ),
            [path, ..] => write!(
                f,
                "item {item} was being published when a process died, and {path} was changed since: it is undone"
            ),
        }
    }
}

impl Sealer<'_> {
    /// Goes on where a process stopped that was publishing to this tree. The item may be another plan's.
    pub(super) fn recover(&mut self) -> Result<Option<Recovered>, WorkError> {
        let journal = self.order.journal();
        let publish = Publish::new(&self.order.root, &journal, self.checkpoints)?;
        let publish = publish.with_writers(self.order.writers);
        let Some(settled) = publish.recover()? else {
            return Ok(None);
        };
        let mut papers: Papers = serde_json::from_value(settled.sealed().clone())?;
        let foreign = match settled.outcome() {
            Outcome::Published { .. } => vec![],
            Outcome::Undone { foreign } => foreign.clone(),
        };
        let item = papers.receipt.outcome.work_item.clone();
        if let Some(receipt) = self.begun(&papers.plan, &item, &papers.dir) {
            // It was known already what came of it.
            let output = papers.result.test_output.clone();
            papers = self.papers_of(&papers.dir, &papers.plan, receipt, output);
        } else if !foreign.is_empty() {
            let tree = self.checkpoints.freeze_patiently(&self.order.root)?.tree;
            let outcome = unpublished(&papers.receipt.outcome, tree.hash(), &foreign);
            papers = self.papers_in(&papers.dir, &papers.plan, outcome, None);
        }
        papers.write(&mut self.history)?;
        settled.finish()?;
        Ok(Some(Recovered {
            item: item.id,
            foreign,
        }))
    }
}

/// The same item, of which nothing was published after all.
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
