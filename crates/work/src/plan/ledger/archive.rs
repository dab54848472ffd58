//! The receipts that lie beside a store: what they say of runs, and whether they and the histories of their trees
//! agree.
//!
//! It only reads, mends nothing and stops at nothing that is wrong: each fault is noted, and the rest is read
//! on, so that somebody who checks a store is told everything at once. Only what the system refuses is an
//! error, or a plan whose own record cannot be read.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, RunId};
use bonded_work_rules::{ItemId, ReceiptLink};

use super::history::{History, HistoryLine};
use super::receipt_file::{ReceiptFile, directories};
use super::signature::{KnownKeys, open_receipt};
use crate::files::FILE_BYTES_MAX;
use crate::plan::id::PlanId;
use crate::plan::record::{PlanRecord, plan_ids};
use crate::plan::workshop::{RECEIPT, Workshop};
use bonded_host::regular;
use bonded_host::witness::Claim;

/// Everything that receipts beside a store say.
#[derive(Debug, Default)]
pub struct Archive {
    /// What they say of runs.
    pub claims: BTreeMap<RunId, Vec<Claim>>,
    /// What is damaged, missing or in contradiction to something else.
    pub faults: Vec<String>,
}

impl Archive {
    /// Reads every receipt, and holds it against the history of its tree.
    pub fn read(workshop: &Workshop, known: &KnownKeys) -> io::Result<Self> {
        let mut archive = Self::default();
        let mut by_tree: BTreeMap<PathBuf, Vec<ReceiptFile>> = BTreeMap::new();
        for id in plan_ids(workshop)? {
            let receipts = archive.plan(workshop, &id, known)?;
            match PlanRecord::read(workshop, &id)? {
                Some(record) => {
                    let tree = workshop.tree_dir(&record.root);
                    by_tree.entry(tree).or_default().extend(receipts);
                }
                None if receipts.is_empty() => {}
                None => archive
                    .faults
                    .push(format!("plan {id} has receipts, but plan.json is missing")),
            }
        }
        for tree in directories(&workshop.trees_dir())? {
            by_tree.entry(tree).or_default();
        }
        for (tree, receipts) in by_tree {
            archive.tree(workshop, &tree, &receipts)?;
            for ReceiptFile { receipt, claim, .. } in receipts {
                if let (Some(run), Some(claim)) = (receipt.outcome.run, claim) {
                    archive.claims.entry(run.run_id).or_default().push(claim);
                }
            }
        }
        Ok(archive)
    }

    /// The receipts of a plan that are whole; of others it is noted what is wrong.
    ///
    /// A plan that was begun and has sealed nothing has no receipts, which is no fault.
    fn plan(
        &mut self,
        workshop: &Workshop,
        plan: &PlanId,
        known: &KnownKeys,
    ) -> io::Result<Vec<ReceiptFile>> {
        let mut all = vec![];
        for dir in directories(&workshop.plan_dir(plan).join("items"))? {
            match ReceiptFile::read(&dir, known)? {
                Some(Ok(receipt)) => all.push(receipt),
                Some(Err(fault)) => self.faults.push(fault),
                None => {}
            }
        }
        Ok(all)
    }

    /// Holds the history of a tree against its receipts.
    ///
    /// In both directions: every line must have its receipt, and every receipt of an item that is sealed must
    /// have its line. A receipt without a result was being written when its process died, and is not missed in
    /// the history.
    fn tree(
        &mut self,
        workshop: &Workshop,
        tree: &Path,
        receipts: &[ReceiptFile],
    ) -> io::Result<()> {
        let history = match History::look(tree) {
            Ok(history) => history,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.faults.push(error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let name = history.file().display().to_string();
        let mut before: Option<&ReceiptLink> = None;
        for line in history.lines() {
            if line.link.chain_index != before.map_or(0, |it| it.chain_index.saturating_add(1)) {
                let (item, at) = (&line.item, line.link.chain_index);
                let fault = format!("{name}: receipt {at} of item {item} follows no other there");
                self.faults.push(fault);
            }
            before = Some(&line.link);
            self.faults.extend(missing(workshop, &name, line));
        }
        let is_listed = |hash: Hash| history.lines().any(|it| it.link.receipt_hash == hash);
        for ReceiptFile { file, receipt, .. } in receipts.iter().filter(|it| it.is_sealed) {
            if !is_listed(receipt.receipt_hash) {
                let file = file.display();
                let fault = format!("{name} lacks the line of {file}: the history was cut");
                self.faults.push(fault);
            }
        }
        Ok(())
    }
}

/// What is wrong with the receipt that a line of a history names. Its file is read after the history was: a plan that is at
/// work writes the receipt first.
fn missing(workshop: &Workshop, history: &str, line: &HistoryLine) -> Option<String> {
    let file = workshop.item_dir(&line.plan, &line.item).join(RECEIPT);
    let (hash, text) = (
        line.link.receipt_hash,
        regular::read_text(&file, FILE_BYTES_MAX),
    );
    let file = file.display();
    let is_kept_back = |error: &io::Error| {
        ![io::ErrorKind::NotFound, io::ErrorKind::InvalidData].contains(&error.kind())
    };
    let found = match text {
        Ok(text) => open_receipt(&text).ok(),
        Err(error) if is_kept_back(&error) => {
            return Some(format!(
                "{file}, which {history} names, cannot be read: {error}"
            ));
        }
        Err(_) => None,
    };
    match found {
        Some((receipt, _)) if receipt.receipt_hash == hash => None,
        Some(_) => Some(format!(
            "{file} is not the receipt {hash} that {history} names"
        )),
        None => Some(format!(
            "{file}, which {history} names, is missing or damaged"
        )),
    }
}

/// What the receipt of an item says of its run, where there is one.
pub fn claim_of_item(
    workshop: &Workshop,
    plan: &str,
    item: &str,
    known: &KnownKeys,
) -> io::Result<Option<Result<(RunId, Claim), String>>> {
    let (Ok(plan), Ok(item)) = (PlanId::new(plan), ItemId::new(item)) else {
        return Ok(None);
    };
    let file = ReceiptFile::read(&workshop.item_dir(&plan, &item), known)?;
    Ok(file.and_then(|file| match file {
        Ok(file) => Some(Ok((file.receipt.outcome.run?.run_id, file.claim?))),
        Err(fault) => Some(Err(fault)),
    }))
}
