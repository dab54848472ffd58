//! One process of a person at a time works on a tree.
//!
//! The locks are files in a directory of the person's own, one for each directory that is worked on or lies above one,
//! named by device and inode. Directories of the tree itself are not locked: whoever may open one, `/` for instance,
//! could hold everybody up. Processes of other people are kept apart where it matters: publishing makes one directory
//! in the tree that only one of them can make, and whatever another changes meanwhile is found path by path.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::files::{PRIVATE_FILE, make_private_directory};

/// The right to work on a tree. The operating system takes it back when the process dies, however it dies, and
/// the programs that the process starts do not inherit it. Nothing is written into the tree. The tree's lock is held
/// alone, and those of the directories above it are shared, so that a tree and a part of it exclude each other.
#[derive(Debug)]
pub struct TreeLock {
    root: PathBuf,
    /// Of the root and of those above it.
    held: Vec<File>,
}

/// Why a tree cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has the tree, or a part of it.
    #[error(
        "{} is in use: another process works on it or on a part of it; wait until that one has finished",
        tree.display()
    )]
    Busy { tree: PathBuf },
    /// Another process has a directory that holds the tree.
    #[error(
        "{} is in use: another process works on {}, which contains it; wait until that one has finished",
        tree.display(),
        above.display()
    )]
    BusyAbove { tree: PathBuf, above: PathBuf },
    /// The path leads to no directory.
    #[error("{} is not a directory that can be worked on: {source}", tree.display())]
    Unusable { tree: PathBuf, source: io::Error },
    /// The lock's own file cannot be had.
    #[error(
        "{} cannot be locked: {}: {source}; it must be writable for you, on a file system with locks",
        tree.display(),
        lock.display()
    )]
    NoLocks {
        tree: PathBuf,
        lock: PathBuf,
        source: io::Error,
    },
}

/// A process that was killed while it started a program lets go only when that program runs, or has died too.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

impl TreeLock {
    /// Waits a moment for a process that is just dying; one that lives has the tree. The locks lie in `dir`, which is
    /// the same for all processes of a person.
    pub fn acquire(root: &Path, dir: &Path) -> Result<Self, LockError> {
        let mut tries = 1;
        loop {
            match Self::try_acquire(root, dir) {
                Err(LockError::Busy { .. } | LockError::BusyAbove { .. }) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                acquired => return acquired,
            }
        }
    }

    /// The tree's own lock comes before those above it. Any of them that cannot be had gives all of them up.
    fn try_acquire(root: &Path, dir: &Path) -> Result<Self, LockError> {
        let unusable = |source: io::Error| LockError::Unusable {
            tree: root.to_owned(),
            source,
        };
        let root = root.canonicalize().map_err(unusable)?;
        if !root.metadata().map_err(unusable)?.is_dir() {
            return Err(unusable(Errno::NOTDIR.into()));
        }
        let mut lock = Self { root, held: vec![] };
        let alone = FlockOperation::NonBlockingLockExclusive;
        if !lock.hold(&lock.root.clone(), dir, alone)? {
            let tree = lock.root.clone();
            return Err(LockError::Busy { tree });
        }
        for above in lock.root.clone().ancestors().skip(1) {
            if !lock.hold(above, dir, FlockOperation::NonBlockingLockShared)? {
                let (tree, above) = (lock.root.clone(), above.to_owned());
                return Err(LockError::BusyAbove { tree, above });
            }
        }
        Ok(lock)
    }

    /// Whether the lock of a directory could be had.
    ///
    /// By device and inode, so that two paths to one directory meet in one lock.
    fn hold(&mut self, of: &Path, dir: &Path, how: FlockOperation) -> Result<bool, LockError> {
        let no_locks = |lock: &Path, source| LockError::NoLocks {
            tree: self.root.clone(),
            lock: lock.to_owned(),
            source,
        };
        // One that cannot be looked at is none that a process of ours works on.
        let Ok(there) = of.metadata() else {
            return Ok(true);
        };
        make_private_directory(dir).map_err(|source| no_locks(dir, source))?;
        let path = dir.join(format!("{:x}-{:x}", there.dev(), there.ino()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = options.mode(PRIVATE_FILE).open(&path);
        let file = file.map_err(|source| no_locks(&path, source))?;
        match flock(&file, how) {
            Ok(()) => self.held.push(file),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(no_locks(&path, errno.into())),
        }
        Ok(true)
    }

    /// The tree's directory, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Closing alone would not do while another thread is just starting a program, which has the files open too until
/// it is running.
impl Drop for TreeLock {
    fn drop(&mut self) {
        for lock in &self.held {
            let _ = flock(lock, FlockOperation::Unlock);
        }
    }
}
