//! The entries of a directory, in an order that does not depend on the file system.

use std::collections::BinaryHeap;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

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
        match file_type {
            FileType::Directory => Self::Dir,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }

    /// Some file systems do not say what an entry is while listing; then it is asked for.
    fn of_entry(dir: &OwnedFd, name: &CStr, listed: FileType) -> Result<Self, Errno> {
        match listed {
            FileType::Unknown => {
                let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(Self::of(FileType::from_raw_mode(stat.st_mode)))
            }
            listed => Ok(Self::of(listed)),
        }
    }
}

/// Ordered by name, then kind.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WalkEntry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The first `max` entries of a directory by name, and whether there were more. A directory of any size
/// takes no more memory than `max` names.
pub(crate) fn entries(
    dir: &OwnedFd,
    max: usize,
    shown: &str,
    cancel: &Cancel,
) -> Result<(Vec<WalkEntry>, bool), ToolFault> {
    let on_path = |errno: Errno| ToolFault::from_io(&io::Error::from(errno), shown);
    let mut first = BinaryHeap::new();
    let mut more = false;
    for entry in Dir::read_from(dir).map_err(on_path)? {
        cancel.check()?;
        let entry = entry.map_err(on_path)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match Kind::of_entry(dir, name, entry.file_type()) {
            Ok(kind) => kind,
            // It was removed since it was listed.
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(on_path(errno)),
        };
        let name = OsStr::from_bytes(name.to_bytes()).to_owned();
        first.push(WalkEntry { name, kind });
        if first.len() > max {
            first.pop();
            more = true;
        }
    }
    Ok((first.into_sorted_vec(), more))
}
