//! Why a plan cannot go on.

use std::io;
use std::path::PathBuf;

use bonded_state::StoreError;
use bonded_tools::sandbox::SandboxError;
use bonded_work_rules::TreePath;

use super::key::KeyError;
use super::publish::{CommitError, PublishError};
use super::tree::TreeError;
use bonded_host::HostError;

/// What stops a plan. Nothing of it is lost: it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Sandbox { source: SandboxError },
    #[error("what is kept of the plan cannot be read or written: {0}{hint}", hint = hint(.0))]
    Io(#[from] io::Error),
    #[error(
        "item {item} has a receipt already, and what it came to is gone; restore what lies beside the store from a backup"
    )]
    SealedBefore { item: String },
    #[error(
        "there is no room for what is to be published to {}, which is as it was: {source}; make room there, then \
         `bonded work --resume`",
        tree.display()
    )]
    NoRoom { tree: PathBuf, source: io::Error },
    #[error("the plan was interrupted")]
    Interrupted,
    #[error("the log of an item's run is not one")]
    NoLog,
    #[error("the copy of the tree is not what its changes say{}", named(.path))]
    CopyDiffers { path: Option<TreePath> },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room beside the store, then `bonded work --resume`"
        }
        _ => "",
    }
}

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
