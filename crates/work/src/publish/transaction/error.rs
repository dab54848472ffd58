//! Why changes did not reach a tree, and what state it is in.

use std::io;
use std::path::PathBuf;

use bonded_work_rules::TreePath;

use super::commit_error::CommitError;

/// Why changes did not reach a tree.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Before the commit point.
    #[error(
        "nothing was published to {}, which is unchanged: {what}: {source}",
        tree.display()
    )]
    Untouched {
        tree: PathBuf,
        what: String,
        source: io::Error,
    },
    /// After the commit point.
    #[error(
        "publishing to {} stopped at {what}: {source}; fix that, and the next command on this tree continues",
        tree.display()
    )]
    Unfinished {
        tree: PathBuf,
        what: String,
        source: io::Error,
    },
    /// The files are published; the commit is not made yet.
    #[error(
        "publishing to {} is done up to its commit: {source}; fix that, and the next command on this tree continues",
        tree.display()
    )]
    Uncommitted { tree: PathBuf, source: CommitError },
    /// What an earlier publish staged is in the way.
    #[error("what an earlier publish to {} left cannot be removed: {source}", tree.display())]
    Stage { tree: PathBuf, source: io::Error },
    /// The item made something under a name that staging needs.
    #[error("{path} has a name that is reserved for bonded; choose another")]
    Reserved { path: TreePath },
    /// A path of the tree could not be looked at.
    #[error("{path} in {} cannot be read: {source}", tree.display())]
    Unreadable {
        tree: PathBuf,
        path: TreePath,
        source: io::Error,
    },
    /// The changes hold something that cannot be made again.
    #[error("{path} is a pipe, a socket or a device, which cannot be published; leave it as it is")]
    Special { path: TreePath },
    /// The changes hold a program that gives rights away.
    #[error("{path} would run with the rights of its owner or group (set-user-ID, set-group-ID)")]
    SetId { path: TreePath },
    /// There is a journal already.
    #[error(
        "an earlier publish to this tree has not ended (its journal is {}); recover it first",
        journal.display()
    )]
    Unrecovered { journal: PathBuf },
    /// A publish with another store has not ended.
    #[error(
        "{} is half published: its journal {} belongs to another store; run the command with that store",
        tree.display(),
        journal.display()
    )]
    OtherStore { tree: PathBuf, journal: PathBuf },
    /// Something of the user's has the name that staging needs.
    #[error(
        "{} is in the way: bonded stages files under this name, but did not create it; rename it",
        path.display()
    )]
    StageTaken { path: PathBuf },
    /// The journal holds something else than a journal.
    #[error(
        "the journal {} cannot be read: {source}; it was written by another version, or damaged",
        journal.display()
    )]
    BadJournal {
        journal: PathBuf,
        source: serde_json::Error,
    },
    /// The journal's file could not be read or removed.
    #[error("the journal {} cannot be used: {source}", journal.display())]
    Journal { journal: PathBuf, source: io::Error },
}
