//! Why a commit was not made.

use std::io;
use std::path::PathBuf;

use bonded_work_rules::TreePath;

/// What keeps git from a commit.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The program is not there, or did not start.
    #[error("git cannot be run: {source}; install it, or go without commits")]
    NoGit { source: io::Error },
    /// The tree lies in no repository.
    #[error("{} is not the work tree of a git repository; go without commits", tree.display())]
    NoWorkTree { tree: PathBuf },
    /// The user has begun something that a commit would disturb.
    #[error("the repository of {} is in the middle of {what}; finish that first", tree.display())]
    InTheMiddle { tree: PathBuf, what: String },
    /// The commit would have no author.
    #[error("git knows no name to commit under; set user.name and user.email with `git config`")]
    NoPerson,
    /// Git ran, and said no.
    #[error("`git {command}` failed: {message}")]
    Refused { command: String, message: String },
    /// A content that is to be committed is gone.
    #[error("the content of {path} cannot be read: {source}")]
    Content { path: TreePath, source: io::Error },
    /// The process ended between two commands of git.
    #[error("{source}")]
    Interrupted { source: io::Error },
}
