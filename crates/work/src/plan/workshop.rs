//! Where everything that belongs to work items is kept: beside the store, never in a tree.
//!
//! Every path of the layout is made here and nowhere else, and nothing is read or written. Trees are named by a
//! hash of their root's path, so that two trees never share a history; a tree that was moved begins a new one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_work_rules::ItemId;

use super::id::PlanId;

/// The receipt of an item, in the item's directory.
pub const RECEIPT: &str = "RECEIPT.json";
/// One DSSE envelope a line, as tools for in-toto expect it.
pub const ENVELOPE: &str = "receipt.intoto.jsonl";
/// The script that works the item off again.
pub const REPLAY: &str = "replay.sh";
/// What the item's tests printed.
pub const TESTS: &str = "tests.log";
/// The item's result. It is written last: where it is, all else is too.
pub const RESULT: &str = "RESULT.json";

/// The directory beside a store that holds checkpoints, copies, plans and receipts.
#[derive(Clone, Debug)]
pub struct Workshop {
    dir: PathBuf,
}

impl Workshop {
    /// What a publish that was interrupted left behind, in what is known about its tree.
    pub(crate) const JOURNAL: &str = "journal.json";

    /// The workshop of a store, whether it is there or not.
    pub fn beside(store: &Path) -> Self {
        let mut dir = OsString::from(store);
        dir.push(".work");
        Self { dir: dir.into() }
    }

    /// Where all of it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What no command may see.
    pub fn keys_dir(&self) -> PathBuf {
        self.dir.join("keys")
    }

    /// What receipts are signed with.
    pub fn key_file(&self) -> PathBuf {
        self.keys_dir().join("ed25519.key")
    }

    /// What receipts are checked with, for everybody to read.
    pub fn public_key_file(&self) -> PathBuf {
        self.dir.join("ed25519.pub")
    }

    /// What is known about one tree. `root` is absolute and without links.
    pub fn tree_dir(&self, root: &Path) -> PathBuf {
        self.trees_dir().join(tree_name(root))
    }

    /// What is known about trees, by the hash of their roots' paths.
    pub fn trees_dir(&self) -> PathBuf {
        self.dir.join("trees")
    }

    /// How far the receipts of a tree have come; kept apart from their history, so that one that is cut is seen.
    pub fn chain_file(&self, root: &Path) -> PathBuf {
        let name = format!("{}.json", tree_name(root));
        self.dir.join("chains").join(name)
    }

    /// One directory for each execution of a plan.
    pub fn plans_dir(&self) -> PathBuf {
        self.dir.join("plans")
    }

    /// What is kept of one execution of a plan.
    pub fn plan_dir(&self, plan: &PlanId) -> PathBuf {
        self.plans_dir().join(plan.as_str())
    }

    /// What is kept of one item, its receipt among it.
    pub fn item_dir(&self, plan: &PlanId, item: &ItemId) -> PathBuf {
        self.plan_dir(plan).join("items").join(item.as_str())
    }

    /// The state that the items of a level begin with.
    pub fn level_tree(&self, plan: &PlanId, level: usize) -> PathBuf {
        self.plan_dir(plan).join(format!("level-{level}.tree"))
    }

    /// What a publish that was interrupted left behind.
    pub fn journal(&self, root: &Path) -> PathBuf {
        self.tree_dir(root).join(Self::JOURNAL)
    }

    /// Where items work.
    pub fn copies_dir(&self) -> PathBuf {
        self.dir.join("copies")
    }

    /// Where items work whose trees lie on other machines.
    pub fn worker_copies_dir(&self) -> PathBuf {
        self.dir.join("worker-copies")
    }

    /// Where items are replayed.
    pub fn scratch_dir(&self) -> PathBuf {
        self.dir.join("scratch")
    }
}

/// Of the path's bytes, which need not be text.
fn tree_name(root: &Path) -> String {
    Hash::of(root.as_os_str().as_encoded_bytes()).to_string()
}
