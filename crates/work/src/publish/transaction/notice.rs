//! A word to whoever meets a tree that a process left half published: a file in its root, there from before the first
//! name is changed until all are.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::faults::{DiskOperation, Faults};
use super::root::{Root, present};

/// No path of a change may have such a name.
const NAME: &str = ".bonded-publish-UNFINISHED.txt";

const TEXT: &str = "\
bonded is publishing the changes of a work item to this tree. While this file is here, some files may be new and
others not yet. That takes milliseconds: if the file stays, the process died.

Run `bonded work --resume` in this directory, with the store that the plan was started with: it finishes what was
begun, or undoes it where you changed one of the files meanwhile. Nothing is lost until then.
";

/// Says so. Where it cannot be said, nothing else is kept from happening.
pub(super) fn put(root: &Root, faults: &dyn Faults) -> io::Result<()> {
    faults.before(DiskOperation::WriteFile)?;
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = root.directory(None)?;
    if let Ok(file) = openat(&directory, NAME, flags, Mode::from_raw_mode(0o644)) {
        let _ = File::from(file).write_all(TEXT.as_bytes());
    }
    Ok(())
}

pub(super) fn remove(root: &Root, faults: &dyn Faults) -> io::Result<()> {
    faults.before(DiskOperation::RemoveFile)?;
    let directory = root.directory(None)?;
    Ok(present(unlinkat(&directory, NAME, AtFlags::empty())).map(drop)?)
}

/// The notice in a directory or above it, if there is one.
pub fn notice_at(dir: &Path) -> Option<PathBuf> {
    let mut places = dir.ancestors().map(|above| above.join(NAME));
    places.find(|place| place.symlink_metadata().is_ok())
}
