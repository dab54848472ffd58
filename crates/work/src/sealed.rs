//! What is written down about an item that is sealed.

use std::path::Path;

use bonded_work_rules::{ItemOutcome, Receipt, Tree, WorkItem, verify_receipt};

use super::files::FILE_BYTES_MAX;
use super::outcome::Outcome;
use super::papers::{Drawn, Papers, RECEIPT};
use super::plan_id::PlanId;
use super::seal::Sealer;
use super::tree::Frozen;
use bonded_host::regular;

impl Sealer<'_> {
    /// What became of an item, with nothing of it published.
    pub(super) fn item_outcome(
        &self,
        level: usize,
        item: &WorkItem,
        outcome: &Outcome,
        frozen: &Frozen,
        tree: &Tree,
    ) -> ItemOutcome {
        let mut base = ItemOutcome::unpublished(
            uuid::Uuid::new_v4().to_string(),
            self.order.id.to_string(),
            level as u64,
            item.clone(),
            outcome.status,
            tree.hash(),
        );
        base.before_hash = frozen.tree.hash();
        base.after_hash = frozen.tree.hash();
        base.error = outcome.error.clone();
        base.changed_meanwhile = outcome.changed_meanwhile;
        base.denial_reason = outcome.denial_reason.clone();
        base.earlier_attempts = outcome.earlier_attempts.clone();
        base.versions
            .insert("bonded".into(), env!("CARGO_PKG_VERSION").into());
        if let Some(capsule) = &outcome.capsule {
            let prompt = outcome.prompt.as_deref().unwrap_or_default();
            base = base.with_run(capsule, sha256(prompt));
        }
        if let Some(tests) = &outcome.tests {
            base = base.with_tests(tests.report.clone());
        }
        base.metrics.execution_time_ms = outcome.execution_time_ms;
        base
    }

    /// Seals an outcome as the next of the tree's chain.
    pub(super) fn papers(&self, outcome: ItemOutcome, test_output: Option<String>) -> Papers {
        let dir = self.order.item_dir(&outcome.work_item.id);
        self.papers_in(&dir, &self.order.id, outcome, test_output)
    }

    pub(super) fn papers_in(
        &self,
        dir: &Path,
        plan: &PlanId,
        outcome: ItemOutcome,
        test_output: Option<String>,
    ) -> Papers {
        let previous = self.history.last().map(|line| &line.link);
        let receipt = Receipt::seal(outcome, previous, self.order.clock.now());
        self.papers_of(dir, plan, receipt, test_output)
    }

    /// The receipt of an item that a process was sealing when it died: it has its place in the chain already, and no
    /// other may take that.
    pub(super) fn begun(&self, plan: &PlanId, item: &WorkItem, dir: &Path) -> Option<Receipt> {
        let line = self.history.of(plan, &item.id)?;
        let text = regular::read_text(&dir.join(RECEIPT), FILE_BYTES_MAX).ok()?;
        let receipt = verify_receipt(&text).ok();
        receipt.filter(|it| it.receipt_hash == line.link.receipt_hash)
    }

    pub(super) fn papers_of(
        &self,
        dir: &Path,
        plan: &PlanId,
        receipt: Receipt,
        test_output: Option<String>,
    ) -> Papers {
        let drawn = Drawn {
            dir,
            root: &self.order.root,
            plan,
            key: &self.key,
            program: &self.order.program,
            store: &self.order.store_file,
        };
        Papers::new(drawn, receipt, test_output)
    }
}

/// SHA-256 in hexadecimal digits, as people compare it.
fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}
