//! What was done to a tree before: one line for each receipt.
//!
//! It is what a new receipt is chained to and what tells a duplicate, so that it must neither be cut nor
//! forked. A line is appended and synced, then the note of the chain's head is written. A crash between the two
//! is mended at the next opening, a half-written line is cut off, and lines that are gone are made again from
//! the receipts. Where those do not lead to the head that is noted, nothing is opened at all.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_work_rules::{ItemId, Receipt, ReceiptLink, WorkStatus};
use serde::{Deserialize, Serialize};

use super::receipt_file::{ReceiptFile, receipts_of};
use crate::files::{PRIVATE_FILE, make_private_directory, read_if_there, read_json, write_durably};
use crate::plan::id::PlanId;
use crate::plan::workshop::Workshop;

/// The file of a tree's history, in what is known about the tree.
pub(crate) const HISTORY: &str = "history.jsonl";

/// What is remembered of a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// Names the receipt.
    pub receipt_id: String,
    /// Its place in the tree's chain.
    pub link: ReceiptLink,
    /// The execution of a plan that it is of.
    pub plan: PlanId,
    /// The item that it is of.
    pub item: ItemId,
    /// How the item ended.
    pub status: WorkStatus,
    /// Over the state before and the changes, to find duplicates by.
    pub content_hash: Hash,
}

/// The receipts of a tree, oldest first. Only whoever holds the tree's lock adds to it.
#[derive(Debug)]
pub struct History {
    file: PathBuf,
    /// Where it is noted how far the chain has come; nothing where the history is only looked at.
    chain: Option<PathBuf>,
    lines: Vec<HistoryLine>,
    restored: usize,
}

impl History {
    /// The history of a tree, for whoever holds the tree's lock. Lines that somebody took away are brought back from the receipts; where that cannot be,
    /// it is an error: a chain that began again would hide what was there.
    pub fn open(workshop: &Workshop, root: &Path) -> io::Result<Self> {
        let mut history = Self::read(&workshop.tree_dir(root), true)?;
        let chain = workshop.chain_file(root);
        let head: Option<ReceiptLink> = read_json(&chain)?;
        history.chain = Some(chain);
        let is_whole = match &head {
            Some(head) => history.has(head.receipt_hash) && history.is_chain(),
            None => !history.lines.is_empty(),
        };
        if !is_whole {
            history.restore(workshop, root, head.as_ref())?;
        }
        // A process may have died between a line and the note of it.
        if head.as_ref() != history.lines.last().map(|line| &line.link) {
            history.note_head()?;
        }
        Ok(history)
    }

    /// The history as it is, with nothing mended.
    pub fn look(tree_dir: &Path) -> io::Result<Self> {
        Self::read(tree_dir, false)
    }

    /// Only what ends with a line feed is a line. `mends` is set by whoever holds the lock: a torn line of a
    /// process that still writes must not be cut off by one that only looks.
    fn read(tree_dir: &Path, mends: bool) -> io::Result<Self> {
        let file = tree_dir.join(HISTORY);
        let bytes = read_if_there(&file)?.unwrap_or_default();
        let last = bytes.iter().rposition(|byte| *byte == b'\n');
        let (whole, torn) = bytes.split_at(last.map_or(0, |at| at + 1));
        if !torn.is_empty() && mends {
            // A process died while it wrote the last line; what that line says is in its journal too.
            write_durably(&file, whole)?;
        }
        let mut history = Self {
            file,
            chain: None,
            lines: vec![],
            restored: 0,
        };
        for (at, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = serde_json::from_slice(line);
            history.note(line.map_err(|error| damaged(&history.file, at + 1, &error))?);
        }
        Ok(history)
    }

    /// The newest come first, as most of what is asked for is new.
    fn has(&self, receipt: Hash) -> bool {
        let mut newest_first = self.lines.iter().rev();
        newest_first.any(|line| line.link.receipt_hash == receipt)
    }

    /// Whether no line is missing between the first and the last.
    fn is_chain(&self) -> bool {
        let mut indices = self.lines.iter().map(|line| line.link.chain_index);
        (0..).zip(&mut indices).all(|(at, index)| at == index)
    }

    /// Brings back from the receipts what is missing.
    ///
    /// Lines that stand in their place are kept. From there on each receipt is taken that has the next index
    /// and names the last hash, so that nothing can be put in that was not chained then. Nothing is written
    /// unless the result holds every sealed receipt and the head.
    fn restore(
        &mut self,
        workshop: &Workshop,
        root: &Path,
        head: Option<&ReceiptLink>,
    ) -> io::Result<()> {
        let receipts = receipts_of(workshop, root)?;
        let lines = std::mem::take(&mut self.lines);
        let had = lines.len();
        let in_place = (0..)
            .zip(lines)
            .take_while(|(at, line)| line.link.chain_index == *at);
        in_place.for_each(|(_, line)| self.note(line));
        for ReceiptFile { receipt, .. } in receipts.iter().filter(|it| it.is_sealed) {
            let last = self.lines.last().map(|line| line.link.receipt_hash);
            let is_next = receipt.chain_index == self.lines.len() as u64;
            if is_next && receipt.previous_receipt_hash == last {
                self.note(HistoryLine::of(receipt)?);
            }
        }
        let is_lost = |it: &ReceiptFile| it.is_sealed && !self.has(it.receipt.receipt_hash);
        let lost = receipts.iter().find(|it| is_lost(it));
        let lost = lost.map(|it| it.file.display().to_string());
        let passed = head.filter(|head| !self.has(head.receipt_hash));
        let lost = lost.or_else(|| passed.map(|head| format!("receipt {}", head.chain_index)));
        if let Some(lost) = lost {
            return Err(cut(&self.file, &lost));
        }
        self.restored = self.lines.len().saturating_sub(had);
        if self.restored > 0 {
            let lines = self.lines.iter().map(serde_json::to_string);
            let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
            write_durably(&self.file, format!("{}\n", lines.join("\n")).as_bytes())?;
        }
        Ok(())
    }

    /// Notes how far the chain has come.
    ///
    /// Only a history that was opened has a place for it.
    fn note_head(&self) -> io::Result<()> {
        match (&self.chain, self.lines.last()) {
            (Some(chain), Some(last)) => write_durably(chain, &serde_json::to_vec(&last.link)?),
            _ => Ok(()),
        }
    }

    /// How many lines were gone and are back.
    pub fn restored(&self) -> usize {
        self.restored
    }

    /// Where the lines lie.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &HistoryLine> {
        self.lines.iter()
    }

    fn note(&mut self, line: HistoryLine) {
        self.lines.push(line);
    }

    /// Adds a line durably, unless it is there.
    pub fn add(&mut self, line: HistoryLine) -> io::Result<()> {
        let is_same = |it: &HistoryLine| it.link.receipt_hash == line.link.receipt_hash;
        // The newest first: whatever is added again was added last.
        if self.lines.iter().rev().any(is_same) {
            return Ok(());
        }
        // Of an empty tree nothing was known so far.
        make_private_directory(self.file.parent().unwrap_or(Path::new(".")))?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(PRIVATE_FILE)
            .open(&self.file)?;
        let text = format!("{}\n", serde_json::to_string(&line)?);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        self.note(line);
        self.note_head()
    }

    /// The newest receipt; nothing where the tree has none.
    pub fn last(&self) -> Option<&HistoryLine> {
        self.lines.last()
    }

    /// The receipt of an item of a plan.
    pub fn of(&self, plan: &PlanId, item: &ItemId) -> Option<&HistoryLine> {
        let mut newest_first = self.lines.iter().rev();
        newest_first.find(|line| line.plan == *plan && line.item == *item)
    }

    /// The items that have succeeded.
    pub fn done(&self) -> BTreeSet<ItemId> {
        let done = self.lines.iter();
        let done = done.filter(|line| line.status == WorkStatus::Success);
        done.map(|line| line.item.clone()).collect()
    }
}

impl HistoryLine {
    /// An error where the receipt names no plan, which none of ours does.
    pub(crate) fn of(receipt: &Receipt) -> io::Result<Self> {
        let outcome = &receipt.outcome;
        let plan = PlanId::new(&outcome.plan_id);
        Ok(Self {
            receipt_id: outcome.receipt_id.clone(),
            link: receipt.link(),
            plan: plan.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            item: outcome.work_item.id.clone(),
            status: outcome.status,
            content_hash: receipt.content_hash,
        })
    }
}

/// It is for a person: nothing here can be done by the program.
fn cut(file: &Path, lost: &str) -> io::Error {
    let why = format!(
        "{}: the history of the tree is incomplete: it lacks {lost}, and the remaining receipts do not lead there; restore the files beside the store from a backup",
        file.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// `line` counts from 1.
fn damaged(file: &Path, line: usize, error: &serde_json::Error) -> io::Error {
    let why = format!(
        "{}:{line}: this is no longer a receipt of the tree: {error}; restore the file, or move it away and it is rebuilt from the receipts",
        file.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}
