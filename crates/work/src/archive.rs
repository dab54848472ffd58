//! The receipts that lie beside a store: what they say of runs, and whether they and the histories of their trees
//! agree.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, RunId};
use bonded_work_rules::{ItemId, Receipt, ReceiptLink};

use super::files::{FILE_BYTES_MAX, read_if_there};
use super::history::{History, Remembered};
use super::papers::{RECEIPT, RESULT};
use super::plan_id::PlanId;
use super::plan_record::{PlanRecord, plan_ids};
use super::signed::{KnownKeys, open_receipt};
use super::workshop::Workshop;
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

/// A receipt that was read.
pub(super) struct Filed {
    pub(super) file: PathBuf,
    pub(super) receipt: Receipt,
    /// Whether everything of the item is written, and so its line in the history.
    pub(super) is_sealed: bool,
    claim: Option<Claim>,
}

impl Archive {
    /// Reads every receipt, and holds it against the history of its tree.
    pub fn read(workshop: &Workshop, known: &KnownKeys) -> io::Result<Self> {
        let mut archive = Self::default();
        let mut by_tree: BTreeMap<PathBuf, Vec<Filed>> = BTreeMap::new();
        for id in plan_ids(workshop)? {
            let filed = archive.plan(workshop, &id, known)?;
            match PlanRecord::read(workshop, &id)? {
                Some(record) => {
                    let tree = workshop.tree_dir(&record.root);
                    by_tree.entry(tree).or_default().extend(filed);
                }
                None if filed.is_empty() => {}
                None => archive
                    .faults
                    .push(format!("plan {id} has receipts, and plan.json is gone")),
            }
        }
        for tree in directories(&workshop.trees_dir())? {
            by_tree.entry(tree).or_default();
        }
        for (tree, filed) in by_tree {
            archive.tree(workshop, &tree, &filed)?;
            for Filed { receipt, claim, .. } in filed {
                if let (Some(run), Some(claim)) = (receipt.outcome.run, claim) {
                    archive.claims.entry(run.run_id).or_default().push(claim);
                }
            }
        }
        Ok(archive)
    }

    /// The receipts of a plan that are whole; of others it is noted what is wrong.
    fn plan(
        &mut self,
        workshop: &Workshop,
        plan: &PlanId,
        known: &KnownKeys,
    ) -> io::Result<Vec<Filed>> {
        let mut all = vec![];
        for dir in directories(&workshop.plan_dir(plan).join("items"))? {
            match filed(&dir, known)? {
                Some(Ok(filed)) => all.push(filed),
                Some(Err(fault)) => self.faults.push(fault),
                None => {}
            }
        }
        Ok(all)
    }

    /// Holds the history of a tree against its receipts.
    fn tree(&mut self, workshop: &Workshop, tree: &Path, filed: &[Filed]) -> io::Result<()> {
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
        for Filed { file, receipt, .. } in filed.iter().filter(|it| it.is_sealed) {
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
fn missing(workshop: &Workshop, history: &str, line: &Remembered) -> Option<String> {
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
        None => Some(format!("{file} is gone or damaged, and {history} names it")),
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
    let filed = filed(&workshop.item_dir(&plan, &item), known)?;
    Ok(filed.and_then(|filed| match filed {
        Ok(filed) => Some(Ok((filed.receipt.outcome.run?.run_id, filed.claim?))),
        Err(fault) => Some(Err(fault)),
    }))
}

/// The receipts of the plans on one tree, oldest first.
pub(super) fn receipts_of(workshop: &Workshop, root: &Path) -> io::Result<Vec<Filed>> {
    let mut all = vec![];
    for id in plan_ids(workshop)? {
        let record = PlanRecord::read(workshop, &id)?;
        if record.is_none_or(|record| record.root != root) {
            continue;
        }
        for dir in directories(&workshop.plan_dir(&id).join("items"))? {
            let filed = filed(&dir, &KnownKeys::of(workshop))?;
            all.extend(filed.and_then(Result::ok));
        }
    }
    all.sort_by_key(|it| it.receipt.chain_index);
    Ok(all)
}

/// The receipt in the directory of an item; what is wrong with it, where something is.
fn filed(item_dir: &Path, known: &KnownKeys) -> io::Result<Option<Result<Filed, String>>> {
    let file = item_dir.join(RECEIPT);
    let Some(bytes) = read_if_there(&file)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let (receipt, key) = match open_receipt(&text) {
        Ok(opened) => opened,
        Err(fault) => return Ok(Some(Err(format!("{}: {fault}", file.display())))),
    };
    let claim = receipt.outcome.run.as_ref().map(|run| Claim {
        source: format!("the receipt {}", file.display()),
        entries: None,
        hash: Some(run.event_head),
        is_end: run.termination.is_some(),
        signer: Some(known.signer(&key)),
    });
    Ok(Some(Ok(Filed {
        is_sealed: item_dir.join(RESULT).exists(),
        file,
        receipt,
        claim,
    })))
}

fn directories(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        listing => listing?,
    };
    let mut found = vec![];
    for entry in listing {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
