//! Where a crash or a full disk can meet a publish: a test stands there and lets it happen.

use std::fmt;
use std::io;

/// What is about to be done to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    MakeDirectory,
    WriteFile,
    MakeLink,
    Rename,
    /// What is at a path is moved to where it waits.
    PutAside,
    RemoveFile,
    RemoveDirectory,
    SetMode,
    Sync,
    WriteJournal,
    RemoveJournal,
    RunGit,
}

/// Asked before each operation that changes a disk; an error takes the operation's place.
pub trait Faults: fmt::Debug + Sync {
    fn before(&self, operation: Operation) -> io::Result<()>;
}

/// What happens where nobody tests.
#[derive(Clone, Copy, Debug)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _operation: Operation) -> io::Result<()> {
        Ok(())
    }
}
