//! What was done to a tree before: one line for each receipt.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_kernel::work::{ItemId, ReceiptLink, WorkStatus};
use serde::{Deserialize, Serialize};

use super::files::{PRIVATE_FILE, make_private_directory, read_if_there, write_durably};
use super::plan_id::PlanId;

/// What is remembered of a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    pub receipt_id: String,
    pub link: ReceiptLink,
    pub plan: PlanId,
    pub item: ItemId,
    pub status: WorkStatus,
    pub content_hash: Hash,
}

/// The receipts of a tree, oldest first. Only whoever holds the tree's lock adds to it.
#[derive(Debug)]
pub struct History {
    file: PathBuf,
    lines: Vec<Remembered>,
    admitted: BTreeMap<Hash, String>,
}

impl History {
    pub fn open(tree_dir: &Path) -> io::Result<Self> {
        let file = tree_dir.join("history.jsonl");
        let bytes = read_if_there(&file)?.unwrap_or_default();
        let last = bytes.iter().rposition(|byte| *byte == b'\n');
        let (whole, torn) = bytes.split_at(last.map_or(0, |at| at + 1));
        if !torn.is_empty() {
            // A process died while it wrote the last line; what that line says is in its journal too.
            write_durably(&file, whole)?;
        }
        let mut history = Self {
            file,
            lines: vec![],
            admitted: BTreeMap::new(),
        };
        for (at, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = serde_json::from_slice(line);
            history.note(line.map_err(|error| damaged(&history.file, at + 1, &error))?);
        }
        Ok(history)
    }

    fn note(&mut self, line: Remembered) {
        if line.status == WorkStatus::Success {
            let id = line.receipt_id.clone();
            self.admitted.insert(line.content_hash, id);
        }
        self.lines.push(line);
    }

    /// Adds a line durably, unless it is there.
    pub fn add(&mut self, line: Remembered) -> io::Result<()> {
        let is_same = |it: &Remembered| it.link.receipt_hash == line.link.receipt_hash;
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
        Ok(())
    }

    pub fn last(&self) -> Option<&Remembered> {
        self.lines.last()
    }

    /// The receipt of an item of a plan.
    pub fn of(&self, plan: &PlanId, item: &ItemId) -> Option<&Remembered> {
        let mut newest_first = self.lines.iter().rev();
        newest_first.find(|line| line.plan == *plan && line.item == *item)
    }

    /// The receipt of an admitted run with this content.
    pub fn admitted(&self, content: &Hash) -> Option<&str> {
        self.admitted.get(content).map(String::as_str)
    }

    /// The items that have succeeded.
    pub fn done(&self) -> BTreeSet<ItemId> {
        let done = self.lines.iter();
        let done = done.filter(|line| line.status == WorkStatus::Success);
        done.map(|line| line.item.clone()).collect()
    }
}

fn damaged(file: &Path, line: usize, error: &serde_json::Error) -> io::Error {
    let why = format!(
        "{}:{line}: this is no receipt of the tree any more: {error}; restore the file, or move it away: then the \
         tree's receipts begin a new chain",
        file.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}
