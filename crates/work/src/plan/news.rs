//! What a person is shown while a plan is worked off: plain data, which a surface renders.

use std::fmt;
use std::path::PathBuf;

use bonded_kernel::Hash;
use bonded_work_rules::{ItemId, RunResult, TreePath, WorkItem, WorkStatus};

use super::ledger::History;

/// One thing that happened.
#[derive(Debug)]
pub enum WorkNews<'a> {
    /// What a process that died had begun to publish is brought to its end.
    Recovered(&'a Recovery),
    /// Lines of the tree's history were gone; they are back, from the receipts.
    HistoryRestored(&'a History),
    /// The tree is frozen, and the items of a level begin with that.
    LevelBegun {
        /// Counted from 0.
        level: usize,
        /// How many items it has.
        items: usize,
        /// The state that they begin with.
        before: Hash,
    },
    /// An item is taken up.
    ItemBegun(&'a WorkItem),
    /// It failed or took too long, so many times by now, and is begun again.
    ItemAgain(&'a WorkItem, u64, &'a str),
    /// What an item came to in its copy; publishing comes when all of its level have.
    ItemEnded(&'a WorkItem, WorkStatus),
    /// An item has its receipt.
    ItemSealed(&'a WorkItem, &'a RunResult),
    /// Published, but in no commit: git ignores it, it lies in a repository of its own, or it needs a filter that only
    /// the repository's configuration names.
    NotCommitted(&'a WorkItem, &'a TreePath),
    /// The same, because the user has changed it too and not committed that, and the two changes meet.
    Uncommitted(&'a WorkItem, &'a TreePath),
    /// Somebody had a file open when it was replaced, and wrote to it.
    Late(&'a LateWrite),
}

/// A publish that a process left when it died, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Whose changes they are. It may be another plan's.
    pub item: ItemId,
    /// Where this is not empty, nothing was published: these were changed meanwhile.
    pub foreign: Vec<TreePath>,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        match self.foreign.as_slice() {
            [] => write!(
                f,
                "item {item} was being published when a process died; it is published now"
            ),
            [path, ..] => write!(
                f,
                "item {item} was being published when a process died, and {path} has changed since; the publish was undone"
            ),
        }
    }
}

/// Words of somebody that are not in the tree, and where they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateWrite {
    /// The file that they were meant for.
    pub path: TreePath,
    /// Where they are now.
    pub kept: PathBuf,
}
