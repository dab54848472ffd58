//! Where everything that belongs to work items is kept: beside the store, never in a tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_work_rules::ItemId;

use super::plan_id::PlanId;

/// The directory beside a store that holds checkpoints, copies, plans and receipts.
#[derive(Clone, Debug)]
pub struct Workshop {
    dir: PathBuf,
}

impl Workshop {
    /// What a publish that was interrupted left behind, in what is known about its tree.
    pub(super) const JOURNAL: &str = "journal.json";

    pub fn beside(store: &Path) -> Self {
        let mut dir = OsString::from(store);
        dir.push(".work");
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What no command may see.
    pub fn keys_dir(&self) -> PathBuf {
        self.dir.join("keys")
    }

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

    pub fn trees_dir(&self) -> PathBuf {
        self.dir.join("trees")
    }

    /// How far the receipts of a tree have come; kept apart from their history, so that one that is cut is seen.
    pub fn chain_file(&self, root: &Path) -> PathBuf {
        let name = format!("{}.json", tree_name(root));
        self.dir.join("chains").join(name)
    }

    pub fn plans_dir(&self) -> PathBuf {
        self.dir.join("plans")
    }

    pub fn plan_dir(&self, plan: &PlanId) -> PathBuf {
        self.plans_dir().join(plan.as_str())
    }

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

    pub fn copies_dir(&self) -> PathBuf {
        self.dir.join("copies")
    }

    pub fn scratch_dir(&self) -> PathBuf {
        self.dir.join("scratch")
    }
}

fn tree_name(root: &Path) -> String {
    Hash::of(root.as_os_str().as_encoded_bytes()).to_string()
}
