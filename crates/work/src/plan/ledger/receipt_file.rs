//! Receipts as they lie in the directories of their items.
//!
//! A receipt counts here only when its signature, its hashes and what it says of itself agree; everything else
//! is a fault in words. The result beside it, which is written last, tells whether its item was sealed to the
//! end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bonded_host::witness::Claim;
use bonded_work_rules::Receipt;

use super::signature::{KnownKeys, open_receipt};
use crate::files::read_if_there;
use crate::plan::record::{PlanRecord, plan_ids};
use crate::plan::workshop::{RECEIPT, RESULT, Workshop};

/// A receipt that was read.
pub(super) struct ReceiptFile {
    pub(super) file: PathBuf,
    pub(super) receipt: Receipt,
    /// Whether everything of the item is written, and so its line in the history.
    pub(super) is_sealed: bool,
    /// What it says of the item's run.
    pub(super) claim: Option<Claim>,
}

impl ReceiptFile {
    /// The receipt in the directory of an item; what is wrong with it, where something is.
    pub(super) fn read(
        item_dir: &Path,
        known: &KnownKeys,
    ) -> io::Result<Option<Result<Self, String>>> {
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
        Ok(Some(Ok(Self {
            is_sealed: item_dir.join(RESULT).exists(),
            file,
            receipt,
            claim,
        })))
    }
}

/// The receipts of the plans on one tree, oldest first.
///
/// Those that are damaged are left out: the caller looks for a chain, and finds a gap there.
pub(super) fn receipts_of(workshop: &Workshop, root: &Path) -> io::Result<Vec<ReceiptFile>> {
    let mut all = vec![];
    for id in plan_ids(workshop)? {
        let record = PlanRecord::read(workshop, &id)?;
        if record.is_none_or(|record| record.root != root) {
            continue;
        }
        for dir in directories(&workshop.plan_dir(&id).join("items"))? {
            let file = ReceiptFile::read(&dir, &KnownKeys::of(workshop))?;
            all.extend(file.and_then(Result::ok));
        }
    }
    all.sort_by_key(|it| it.receipt.chain_index);
    Ok(all)
}

/// Sorted, so that faults come in the same order every time. None where the directory is not there.
pub(super) fn directories(dir: &Path) -> io::Result<Vec<PathBuf>> {
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
