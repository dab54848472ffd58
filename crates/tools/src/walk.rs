//! The entries of a directory, in an order that does not depend on the file system.

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::io;

use cap_std::fs::{Dir, DirEntry, FileType};

use crate::fault::ToolFault;
use crate::task::Cancel;

/// What an entry is; a link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    Dir,
    Symlink,
    Other,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }

    fn of(file_type: FileType) -> Self {
        if file_type.is_dir() {
            Self::Dir
        } else if file_type.is_file() {
            Self::File
        } else if file_type.is_symlink() {
            Self::Symlink
        } else {
            Self::Other
        }
    }

    /// Some file systems do not say what an entry is while listing; then it is asked for.
    fn of_entry(entry: &DirEntry) -> io::Result<Self> {
        match Self::of(entry.file_type()?) {
            Self::Other => Ok(Self::of(entry.metadata()?.file_type())),
            kind => Ok(kind),
        }
    }
}

/// Ordered by name, then kind.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The first `max` entries of a directory by name, and whether there were more. A directory of any size
/// takes no more memory than `max` names.
pub(crate) fn entries(
    dir: &Dir,
    max: usize,
    shown: &str,
    cancel: &Cancel,
) -> Result<(Vec<Found>, bool), ToolFault> {
    let on_path = |error: io::Error| ToolFault::from_io(&error, shown);
    let mut first = BinaryHeap::new();
    let mut more = false;
    for entry in dir.entries().map_err(on_path)? {
        cancel.check()?;
        let entry = entry.map_err(on_path)?;
        let kind = match Kind::of_entry(&entry) {
            Ok(kind) => kind,
            // It was removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(on_path(error)),
        };
        let name = entry.file_name();
        first.push(Found { name, kind });
        if first.len() > max {
            first.pop();
            more = true;
        }
    }
    Ok((first.into_sorted_vec(), more))
}
