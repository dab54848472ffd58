//! Receipts drawn up: what became of an item, sealed as the next of its tree's chain.
//!
//! Only whoever holds the lock of the tree draws up receipts, since each names the one before it. Sealing makes
//! a receipt and writes nothing; it has its place in the chain only when it is written. So of two that are
//! drawn up for one item, one for success and one for failure, only one is ever written.

use std::path::Path;

use bonded_host::regular;
use bonded_work_rules::{Denial, ItemOutcome, Receipt, Tree, WorkItem, WorkStatus, verify_receipt};

use super::error::WorkError;
use super::item_files::{ItemFiles, SealContext};
use crate::files::{FILE_BYTES_MAX, write_durably};
use crate::plan::key::{KEY_FILE_BYTES_MAX, SigningKey};
use crate::plan::{AttemptOutcome, History, PlanId, RECEIPT, WorkNews, WorkOrder};
use crate::tree::Frozen;

/// The receipts of a tree, and what the next one is signed with.
pub(super) struct Receipts<'a> {
    pub(super) order: &'a WorkOrder<'a>,
    pub(super) history: History,
    key: SigningKey,
}

impl<'a> Receipts<'a> {
    /// The key is made at the first use of a store.
    pub(super) fn open(order: &'a WorkOrder<'a>) -> Result<Self, WorkError> {
        let key = SigningKey::open_or_create(&order.workshop.key_file())?;
        show_public(&key, &order.workshop.public_key_file())?;
        let history = History::open(&order.workshop, &order.root)?;
        if history.restored() > 0 {
            (order.watch)(WorkNews::HistoryRestored(&history));
        }
        Ok(Self {
            order,
            history,
            key,
        })
    }

    /// What became of an item, with nothing of it published.
    pub(super) fn item_outcome(
        &self,
        level: usize,
        item: &WorkItem,
        outcome: &AttemptOutcome,
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

    /// Seals an outcome of an item of this plan as the next of the tree's chain.
    pub(super) fn seal(&self, outcome: ItemOutcome, test_output: Option<String>) -> ItemFiles {
        let dir = self.order.item_dir(&outcome.work_item.id);
        self.seal_in(&dir, &self.order.id, outcome, test_output)
    }

    /// The same for an item of any plan on the tree.
    pub(super) fn seal_in(
        &self,
        dir: &Path,
        plan: &PlanId,
        outcome: ItemOutcome,
        test_output: Option<String>,
    ) -> ItemFiles {
        let previous = self.history.last().map(|line| &line.link);
        let receipt = Receipt::seal(outcome, previous, self.order.clock.now());
        self.files_of(dir, plan, receipt, test_output)
    }

    /// For what turned out only when it was to be published: a duplicate, or changes that meet those of others.
    pub(super) fn seal_denied(
        &self,
        base: ItemOutcome,
        denial: &Denial,
        test_output: Option<String>,
    ) -> ItemFiles {
        let outcome = ItemOutcome {
            status: WorkStatus::Denied,
            denial_reason: Some(denial.to_string()),
            ..base
        };
        self.seal(outcome, test_output)
    }

    /// For what could not be published, or was undone.
    pub(super) fn seal_failed(
        &self,
        base: ItemOutcome,
        error: String,
        test_output: Option<String>,
    ) -> ItemFiles {
        let outcome = ItemOutcome {
            status: WorkStatus::Failure,
            error: Some(error),
            ..base
        };
        self.seal(outcome, test_output)
    }

    /// The receipt of an item that a process was sealing when it died: it has its place in the chain already, and no
    /// other may take that.
    pub(super) fn begun(&self, plan: &PlanId, item: &WorkItem, dir: &Path) -> Option<Receipt> {
        let line = self.history.of(plan, &item.id)?;
        let text = regular::read_text(&dir.join(RECEIPT), FILE_BYTES_MAX).ok()?;
        let receipt = verify_receipt(&text).ok();
        receipt.filter(|it| it.receipt_hash == line.link.receipt_hash)
    }

    /// The files of an item whose receipt is there.
    pub(super) fn files_of(
        &self,
        dir: &Path,
        plan: &PlanId,
        receipt: Receipt,
        test_output: Option<String>,
    ) -> ItemFiles {
        let context = SealContext {
            dir,
            root: &self.order.root,
            plan,
            key: &self.key,
            program: &self.order.program,
            store: &self.order.store_file,
        };
        ItemFiles::new(context, receipt, test_output)
    }

    /// Writes the files of an item, and its line in the history.
    pub(super) fn write(&mut self, files: &ItemFiles) -> std::io::Result<()> {
        files.write(&mut self.history)
    }
}

/// Puts the public key where people find it, to give it to whoever checks receipts.
fn show_public(key: &SigningKey, file: &Path) -> std::io::Result<()> {
    let pem = key.public().to_pem();
    match regular::read_text(file, KEY_FILE_BYTES_MAX).is_ok_and(|there| there == pem) {
        true => Ok(()),
        false => write_durably(file, pem.as_bytes()),
    }
}

/// SHA-256 in hexadecimal digits, as people compare it.
fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}
