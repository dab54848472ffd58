//! Where copies lie, and whose they are.
//!
//! A directory belongs to the process that holds the lock on it, and the system takes the lock back however the
//! process ends. So a leftover is told from a directory in use without a process number that could have been
//! given to another.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use rustix::fs::{FlockOperation, flock};

use super::overlay;
use crate::files::make_private_directory;
use crate::tree::error::TreeError;
use crate::tree::removal::remove_tree;

/// Where a copy itself lies, in its directory.
pub(super) const MERGED: &str = "merged";

/// A directory that is this process's while it lives. It is removed with this, unless it is to stay.
#[derive(Debug)]
pub(in crate::tree) struct OwnPlace {
    path: PathBuf,
    /// Whether it outlives the process, for another that takes up what is in it.
    stays: bool,
    _lock: File,
}

impl OwnPlace {
    /// The directory may be removed as a leftover between making and locking it, and is made again then.
    pub(in crate::tree) fn make(all: &Path, name: &str) -> Result<Self, TreeError> {
        let path = all.join(name);
        loop {
            make_private_directory(&path).map_err(TreeError::unmade(&path))?;
            if let Some(lock) = locked(&path).map_err(TreeError::unmade(&path))? {
                let path = path.canonicalize().map_err(TreeError::unmade(&path))?;
                return Ok(Self {
                    path,
                    stays: false,
                    _lock: lock,
                });
            }
            // Unless somebody took it for a leftover just now.
            if path.exists() {
                let why = "another process has copies there; wait for it to end".into();
                return Err(TreeError::NoCopy { path, why });
            }
        }
    }

    pub(in crate::tree) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn stay(&mut self) {
        self.stays = true;
    }

    pub(super) fn stays(&self) -> bool {
        self.stays
    }

    pub(super) fn remove(&self) -> Result<(), TreeError> {
        remove_copies(&self.path).map_err(TreeError::unmade(&self.path))
    }
}

impl Drop for OwnPlace {
    fn drop(&mut self) {
        if !self.stays {
            // Whoever comes next removes what is left.
            let _ = remove_copies(&self.path);
        }
    }
}

/// Names the time since the machine was started. Where it cannot be read, no copy is ever taken up.
pub(super) fn boot() -> Vec<u8> {
    fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// A name that is safe for a directory; where it is not, one that follows from it.
pub(super) fn plain(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match !name.is_empty() && name.len() <= 100 && name.bytes().all(is_plain) {
        true => name.to_owned(),
        false => Hash::of(name.as_bytes()).to_string(),
    }
}

/// The lock on a directory, unless another holds it or has removed the directory.
///
/// A directory that has no links left was removed by another before the lock was had.
fn locked(dir: &Path) -> io::Result<Option<File>> {
    let file = match File::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok((file.metadata()?.nlink() > 0).then_some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The lock is held while it is removed, so that nobody takes it up meanwhile.
pub(super) fn remove_leftovers(all: &Path, needed: &dyn Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(needed) {
            continue;
        }
        let dir = entry.path();
        if let Some(_lock) = locked(&dir)? {
            remove_copies(&dir)?;
        }
    }
    Ok(())
}

/// Mounts go first: a directory on which something is mounted cannot be removed.
fn remove_copies(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        overlay::unmount_from(&entry?.path().join(MERGED));
    }
    remove_tree(dir)
}

pub(super) fn remove_copy(dir: &Path) -> io::Result<()> {
    overlay::unmount_from(&dir.join(MERGED));
    remove_tree(dir)
}
