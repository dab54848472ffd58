//! Why a plan cannot go on.

use std::io;
use std::path::PathBuf;

use bonded_state::StoreError;
use bonded_tools::sandbox::SandboxError;
use bonded_work_rules::TreePath;

use super::transaction::{CommitError, PublishError};
use crate::exchange::ExchangeError;
use crate::plan::key::KeyError;
use crate::tree::TreeError;
use bonded_host::HostError;

/// What stops a plan. Nothing of it is lost: it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The driver of an item's run stopped.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A tree could not be frozen, copied or restored.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Machines could not exchange what the plan needs.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// Changes did not reach the tree.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// No commit could be made.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// There is no key to sign with.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The tests' commands could not be confined.
    #[error(transparent)]
    Sandbox { source: SandboxError },
    /// What is kept beside the store could not be read or written.
    #[error("what is kept of the plan cannot be read or written: {0}{hint}", hint = hint(.0))]
    Io(#[from] io::Error),
    /// The history names a receipt of the item, and its result is gone.
    #[error(
        "item {item} already has a receipt, but its result is missing; restore the files beside the store from a backup"
    )]
    SealedBefore { item: String },
    /// The disk of the tree is full.
    #[error(
        "there is no space to publish to {}, which is unchanged: {source}; free some, then run `bonded work --resume`",
        tree.display()
    )]
    NoRoom { tree: PathBuf, source: io::Error },
    /// The process was asked to end.
    #[error("the plan was interrupted")]
    Interrupted,
    /// The store has no log that the run's capsule could be made of.
    #[error("the log of an item's run is not valid")]
    NoLog,
    /// What was read of the copy does not fit what was frozen.
    #[error("the copy of the tree is not what its changes say{}", named(.path))]
    CopyDiffers { path: Option<TreePath> },
}

/// What a person can do where the disk or the quota is full.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space beside the store, then run `bonded work --resume`"
        }
        _ => "",
    }
}

/// With the colon before it, for the end of a message.
fn named(path: &Option<TreePath>) -> String {
    match path {
        Some(path) => format!(": {path}"),
        None => String::new(),
    }
}

impl From<serde_json::Error> for WorkError {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}

impl From<StoreError> for WorkError {
    fn from(error: StoreError) -> Self {
        Self::Host(error.into())
    }
}
