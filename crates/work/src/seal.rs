//! What has ended is published and sealed: one item after the other, in the order of their ids.

use std::collections::BTreeMap;
use std::path::Path;

use bonded_work_rules::{
    Capsule, Change, Denial, ItemId, ItemOutcome, LevelReceipt, Receipt, RunResult, Tree, TreePath,
    WorkItem, WorkStatus,
};

use super::admitted::{Admitting, admitted};
use super::error::WorkError;
use super::files::{read_json, write_durably};
use super::history::History;
use super::key::{KEY_FILE_BYTES_MAX, SigningKey};
use super::late::{Late, keep_late};
use super::meeting::{Meeting, meet};
use super::order::{WorkNews, WorkOrder};
use super::outcome::Outcome;
use super::papers::{Papers, Sealed};
use super::publish::{self, CommitPlan, Publish, PublishError, Replaced};
use super::tree::{Checkpoints, Frozen, read_tree, write_tree};
use bonded_host::regular;

/// Publishes and seals what items came to. It alone writes to the tree.
pub(super) struct Sealer<'a> {
    pub(super) order: &'a WorkOrder<'a>,
    pub(super) checkpoints: &'a Checkpoints,
    pub(super) history: History,
    pub(super) key: SigningKey,
    last_level: Option<LevelReceipt>,
    /// Looked at again when all is published.
    replaced: Vec<Replaced>,
}

impl<'a> Sealer<'a> {
    pub(super) fn open(order: &'a WorkOrder<'a>) -> Result<Self, WorkError> {
        let key = SigningKey::open_or_create(&order.workshop.key_file())?;
        show_public(&key, &order.workshop.public_key_file())?;
        let history = History::open(&order.workshop, &order.root)?;
        if history.restored() > 0 {
            (order.watch)(WorkNews::HistoryRestored(&history));
        }
        Ok(Self {
            order,
            checkpoints: order.checkpoints,
            history,
            key,
            last_level: None,
            replaced: vec![],
        })
    }

    /// Keeps what somebody wrote to files after they had been replaced.
    pub(super) fn keep_late(&mut self) -> Result<Vec<Late>, WorkError> {
        let replaced = std::mem::take(&mut self.replaced);
        let dir = self.order.workshop.tree_dir(&self.order.root).join("kept");
        Ok(keep_late(&replaced, &dir)?)
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// The common state of a level: the tree as it is, or as it was when the level began.
    pub(super) fn freeze(&self, level: usize) -> Result<Frozen, WorkError> {
        let frozen = self.checkpoints.freeze_for_copies(&self.order.root)?;
        let file = self.order.level_tree(level);
        if file.exists() {
            return Ok(frozen.as_it_was(read_tree(&file)?));
        }
        // A state that is written down can be restored.
        self.checkpoints.sync()?;
        write_tree(&frozen.tree, &file)?;
        Ok(frozen)
    }

    /// The results of a level that was sealed whole before.
    pub(super) fn sealed_before(
        &mut self,
        level: usize,
        items: &[&WorkItem],
    ) -> Result<Option<BTreeMap<ItemId, RunResult>>, WorkError> {
        let Some(receipt) = read_json(&self.order.level_receipt(level))? else {
            return Ok(None);
        };
        self.last_level = Some(receipt);
        let mut results = BTreeMap::new();
        for item in items {
            let Some(sealed) = Sealed::read(&self.order.item_dir(&item.id))? else {
                return Ok(None);
            };
            results.insert(item.id.clone(), sealed.result);
        }
        Ok(Some(results))
    }

    /// Seals the items of a level whatever became of them, then the level.
    pub(super) fn seal_level(
        &mut self,
        level: usize,
        frozen: &Frozen,
        items: &[&WorkItem],
        mut outcomes: BTreeMap<ItemId, Outcome>,
    ) -> Result<BTreeMap<ItemId, RunResult>, WorkError> {
        self.checkpoints.sync()?;
        let now = self.checkpoints.freeze_patiently(&self.order.root)?;
        let is_changed = frozen.was_changed_until(&now);
        let mut tree = now.tree;
        let (mut receipts, mut results) = (vec![], BTreeMap::new());
        for item in items {
            let sealed = match Sealed::read(&self.order.item_dir(&item.id))? {
                Some(sealed) => sealed,
                None => {
                    let outcome = outcomes.remove(&item.id);
                    let mut outcome =
                        outcome.unwrap_or_else(|| Outcome::failed("nothing came of it"));
                    outcome.changed_meanwhile |= is_changed;
                    self.seal((level, &receipts), item, outcome, frozen, &mut tree)?
                }
            };
            (self.order.watch)(WorkNews::ItemSealed(item, &sealed.result));
            receipts.push(*sealed.receipt);
            results.insert(item.id.clone(), sealed.result);
        }
        let receipt = LevelReceipt::seal(
            self.order.id.to_string(),
            level as u64,
            frozen.tree.hash(),
            &receipts,
            self.last_level.as_ref(),
            self.order.clock.now(),
        );
        write_durably(
            &self.order.level_receipt(level),
            receipt.to_json().as_bytes(),
        )?;
        self.last_level = Some(receipt);
        Ok(results)
    }

    /// `earlier` are the receipts of the items before it in its level.
    fn seal(
        &mut self,
        (level, earlier): (usize, &[Receipt]),
        item: &WorkItem,
        outcome: Outcome,
        frozen: &Frozen,
        tree: &mut Tree,
    ) -> Result<Sealed, WorkError> {
        let base = self.item_outcome(level, item, &outcome, frozen, tree);
        let test_output = outcome.tests.map(|tests| tests.output);
        let (plan, dir) = (&self.order.id, self.order.item_dir(&item.id));
        let papers = match (self.begun(plan, item, &dir), outcome.capsule) {
            (Some(receipt), _) => self.papers_of(&dir, plan, receipt, test_output),
            (None, Some(capsule)) if outcome.status == WorkStatus::Success => {
                self.publish((item, earlier), base, &capsule, test_output, tree)?
            }
            _ => self.papers(base, test_output),
        };
        // What is published is written down before its journal goes.
        if Sealed::read(&dir)?.is_none() {
            papers.write(&mut self.history)?;
        }
        Ok(Sealed {
            receipt: papers.receipt,
            result: papers.result,
        })
    }
}

/// What becomes of an item whose changes could be published.
impl Sealer<'_> {
    fn publish(
        &mut self,
        (item, earlier): (&WorkItem, &[Receipt]),
        base: ItemOutcome,
        capsule: &Capsule,
        test_output: Option<String>,
        tree: &mut Tree,
    ) -> Result<Papers, WorkError> {
        let changes: Vec<Change> = capsule.deltas.changes().into_iter().cloned().collect();
        let _admitting = Admitting::begin(&self.order.workshop)?;
        if let Some(denial) = self.duplicate(capsule)? {
            return Ok(self.denied(base, &denial, test_output));
        }
        let Meeting {
            changes,
            after,
            merged,
        } = match meet(tree, &changes, earlier, self.checkpoints)? {
            Ok(meeting) => meeting,
            Err(clashes) => return Ok(self.denied(base, &clashes.into(), test_output)),
        };
        let published = ItemOutcome {
            merged,
            ..base.clone().published(capsule, tree.hash(), after.hash())
        };
        if changes.is_empty() {
            return Ok(self.papers(published, test_output));
        }
        let journal = self.order.journal();
        let publish = Publish::new(&self.order.root, &journal, self.checkpoints)?;
        let publish = publish.with_writers(self.order.writers);
        let clashes = publish.check(&changes)?;
        if !clashes.is_empty() {
            return Ok(self.denied(base, &clashes.into(), test_output));
        }
        let papers = self.papers(published, test_output.clone());
        let commit = self.commit_plan(item, &papers.receipt)?;
        let room = papers.take_room()?;
        let prepared = match publish.prepare(&changes, serde_json::to_value(&papers)?, commit) {
            Ok(prepared) => prepared,
            // Nothing is wrong with the item: it is published when there is room.
            Err(PublishError::Untouched { tree, source, .. }) if is_full(&source) => {
                return Err(WorkError::NoRoom { tree, source });
            }
            Err(
                error @ (PublishError::Untouched { .. }
                | PublishError::Reserved { .. }
                | PublishError::Special { .. }
                | PublishError::SetId { .. }),
            ) => {
                return Ok(self.failed(base, error.to_string(), test_output));
            }
            Err(error) => return Err(error.into()),
        };
        let mut settled = prepared.apply()?;
        self.replaced.extend(settled.take_replaced());
        let papers = match settled.outcome() {
            publish::Outcome::Published { commit } => {
                let left_out = commit.iter().flat_map(|it| &it.left_out);
                left_out.for_each(|path| (self.order.watch)(WorkNews::NotCommitted(item, path)));
                let overlapping = commit.iter().flat_map(|it| &it.overlapping);
                overlapping.for_each(|path| (self.order.watch)(WorkNews::Uncommitted(item, path)));
                *tree = after;
                papers
            }
            publish::Outcome::Undone { foreign } => {
                let base = ItemOutcome {
                    changed_meanwhile: true,
                    ..base
                };
                self.failed(base, undone(foreign), test_output)
            }
        };
        drop(room);
        papers.write(&mut self.history)?;
        settled.finish()?;
        Ok(papers)
    }

    /// Whether another plan has published the same since the item was admitted.
    fn duplicate(&self, capsule: &Capsule) -> Result<Option<Denial>, WorkError> {
        if self.order.again || capsule.deltas.is_empty() {
            return Ok(None);
        }
        let content_hash = capsule.content_hash;
        let before = admitted(&self.order.workshop, &self.order.root, &content_hash)?;
        Ok(before.map(|receipt_id| Denial::Duplicate {
            content_hash,
            receipt_id,
        }))
    }

    fn commit_plan(
        &self,
        item: &WorkItem,
        receipt: &Receipt,
    ) -> Result<Option<CommitPlan>, WorkError> {
        if !self.order.commit {
            return Ok(None);
        }
        let hash = receipt.receipt_hash.to_string();
        let seconds = receipt.sealed_at.0 / 1000;
        Ok(Some(CommitPlan::new(
            &self.order.root,
            &item.description,
            &hash,
            seconds,
        )?))
    }

    fn denied(&self, base: ItemOutcome, denial: &Denial, test_output: Option<String>) -> Papers {
        let outcome = ItemOutcome {
            status: WorkStatus::Denied,
            denial_reason: Some(denial.to_string()),
            ..base
        };
        self.papers(outcome, test_output)
    }

    fn failed(&self, base: ItemOutcome, error: String, test_output: Option<String>) -> Papers {
        let outcome = ItemOutcome {
            status: WorkStatus::Failure,
            error: Some(error),
            ..base
        };
        self.papers(outcome, test_output)
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

pub(super) fn undone(foreign: &[TreePath]) -> String {
    let paths: Vec<String> = foreign.iter().map(ToString::to_string).collect();
    format!(
        "Not published: {} changed by another, or open for writing there, while it was published",
        paths.join(", ")
    )
}

/// Puts the public key where people find it, to give it to whoever checks receipts.
fn show_public(key: &SigningKey, file: &Path) -> std::io::Result<()> {
    let pem = key.public().to_pem();
    match regular::read_text(file, KEY_FILE_BYTES_MAX).is_ok_and(|there| there == pem) {
        true => Ok(()),
        false => write_durably(file, pem.as_bytes()),
    }
}
