//! Why machines could not exchange what they need.

use std::io;

use bonded_kernel::{Hash, RunId};
use bonded_state::StoreError;
use bonded_work_rules::TreePath;

use crate::plan::PlanId;
use crate::tree::TreeError;

/// What was not sent or not fetched. Nothing that came is used unless it is as its hash says.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is kept on this machine failed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file of this machine could not be written.
    #[error("what comes from the store cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The store is a file.
    #[error("the store has no place in which machines exchange files")]
    NoObjects,
    /// It was removed while somebody needed it.
    #[error("the store does not have content {hash} of plan {plan}")]
    Missing {
        /// Of the content.
        hash: Hash,
        /// Whose it is.
        plan: PlanId,
    },
    /// Somebody or something changed it in the store.
    #[error("content {hash} of plan {plan} was changed in the store: it does not have its hash")]
    OtherContent {
        /// What it should have.
        hash: Hash,
        /// Whose it is.
        plan: PlanId,
    },
    /// A list names a length that its content does not have.
    #[error("content {hash} is not {listed} bytes long, as its list says")]
    OtherLength {
        /// Of the content.
        hash: Hash,
        /// What the list says.
        listed: u64,
    },
    /// The list of a tree is that of another.
    #[error("content {list} in the store does not list the tree with state {state}")]
    OtherTree {
        /// Of the content.
        list: Hash,
        /// What the tree should have.
        state: Hash,
    },
    /// The state of a copy is that of another run.
    #[error("content {hash} in the store is not the state of the copy of run {run}")]
    OtherState {
        /// Whose state was asked for.
        run: RunId,
        /// Of the content.
        hash: Hash,
    },
    /// What a run was told to do is not what its log names.
    #[error("content {hash} in the store is not what run {run} is to do")]
    OtherOrder {
        /// The run.
        run: RunId,
        /// Of the content.
        hash: Hash,
    },
    /// A content that is to be sent is damaged on this machine.
    #[error("content {hash} cannot be read: {source}")]
    Unreadable {
        /// Of the content.
        hash: Hash,
        /// What the system said.
        source: io::Error,
    },
    /// A device lies in the tree.
    #[error(
        "the tree has a device{}, which cannot be made on another machine; move it out of the tree, or work without --queue",
        named(.path)
    )]
    Device {
        /// Where.
        path: Option<TreePath>,
    },
}

fn named(path: &Option<TreePath>) -> String {
    let path = path.as_ref();
    path.map_or_else(String::new, |path| format!(" at {path}"))
}
