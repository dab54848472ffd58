//! Where a crash or a full disk can meet a publish: a test stands there and lets it happen.

use std::fmt;
use std::io;

/// What is about to be done to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// A directory is made, in the tree or for staging.
    MakeDirectory,
    /// A content is staged.
    WriteFile,
    /// A symbolic link is staged.
    MakeLink,
    /// What is staged comes to its path.
    Rename,
    /// What is at a path is moved to where it waits.
    PutAside,
    /// A file that is not needed any more goes.
    RemoveFile,
    /// An empty directory goes.
    RemoveDirectory,
    /// A mode changes where it is.
    SetMode,
    /// What was written is made durable.
    Sync,
    /// The commit point, or a note of progress after it.
    WriteJournal,
    /// The end of a publish.
    RemoveJournal,
    /// A commit is made.
    RunGit,
}

/// Asked before each operation that changes a disk; an error takes the operation's place.
pub trait Faults: fmt::Debug + Sync {
    /// An error is what the operation ends with; it is not begun then.
    fn before(&self, operation: DiskOperation) -> io::Result<()>;
}

/// What happens where nobody tests.
#[derive(Clone, Copy, Debug)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _operation: DiskOperation) -> io::Result<()> {
        Ok(())
    }
}
