//! One process at a time works on a tree.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

/// The right to work on a tree. The operating system takes it back when the process dies, however it dies, and
/// the programs that the process starts do not inherit it. Nothing is written into the tree: its directory is
/// locked itself, and those above it are shared, so that a tree and a part of it exclude each other.
#[derive(Debug)]
pub struct TreeLock {
    root: PathBuf,
    /// Of the root and of those above it.
    held: Vec<File>,
}

/// Why a tree cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "{} is in use: another process works on it or on a part of it; wait until that has ended",
        tree.display()
    )]
    Busy { tree: PathBuf },
    #[error(
        "{} is in use: another process works on {}, which holds it; wait until that has ended",
        tree.display(),
        above.display()
    )]
    BusyAbove { tree: PathBuf, above: PathBuf },
    #[error("{} is not a directory that can be worked on: {source}", tree.display())]
    Unusable { tree: PathBuf, source: io::Error },
    #[error(
        "{} cannot be locked: {source}; work on a file system that has locks, such as a local disk",
        tree.display()
    )]
    NoLocks { tree: PathBuf, source: io::Error },
}

/// A process that was killed while it started a program lets go only when that program runs, or has died too.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

impl TreeLock {
    /// Waits a moment for a process that is just dying; one that lives has the tree.
    pub fn acquire(root: &Path) -> Result<Self, LockError> {
        let mut tries = 1;
        loop {
            match Self::try_acquire(root) {
                Err(LockError::Busy { .. } | LockError::BusyAbove { .. }) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                acquired => return acquired,
            }
        }
    }

    fn try_acquire(root: &Path) -> Result<Self, LockError> {
        let unusable = |source: io::Error| LockError::Unusable {
            tree: root.to_owned(),
            source,
        };
        let root = root.canonicalize().map_err(unusable)?;
        let directory = open_directory(&root).map_err(|errno| unusable(errno.into()))?;
        let tree = || root.clone();
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(LockError::Busy { tree: tree() }),
            Err(errno) => {
                let (tree, source) = (tree(), errno.into());
                return Err(LockError::NoLocks { tree, source });
            }
        }
        let mut lock = Self {
            held: vec![directory],
            root,
        };
        for above in lock.root.ancestors().skip(1) {
            lock.held.extend(share(&lock.root, above)?);
        }
        Ok(lock)
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
        for directory in &self.held {
            let _ = flock(directory, FlockOperation::Unlock);
        }
    }
}

/// A directory that we may not open is none that a process of ours works on, and a file system without locks
/// above the tree's own has none to respect.
fn share(tree: &Path, above: &Path) -> Result<Option<File>, LockError> {
    let Ok(directory) = open_directory(above) else {
        return Ok(None);
    };
    match flock(&directory, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Some(directory)),
        Err(Errno::WOULDBLOCK) => Err(LockError::BusyAbove {
            tree: tree.to_owned(),
            above: above.to_owned(),
        }),
        Err(_) => Ok(None),
    }
}

fn open_directory(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}
