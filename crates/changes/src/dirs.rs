//! The directories of an undo: made before the files in them, removed after them, with the modes and times that they had.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use bonded_tools::beneath::{Links, Root};
use bonded_tools::recording::DirTime;
use rustix::fs::{
    AtFlags, Mode, Timespec, Timestamps, UTIME_OMIT, fchmod, futimens, mkdirat, unlinkat,
};
use rustix::io::Errno;

use crate::error::ChangesError;
use crate::frame::{ChangeSet, PathChange};
use crate::moment::moment;
use crate::node::Node;

/// Those that are missing, the topmost first. They have their modes when all that lies in them is there.
pub(crate) fn make_dirs(root: &Root, set: &ChangeSet) -> Result<(), ChangesError> {
    for (change, mode) in wanted_dirs(set) {
        if change.from != Node::Absent {
            continue;
        }
        let (above, name) = parent(root, &change.path)?;
        moment();
        let mode = Mode::from_raw_mode(0o700 | mode.unwrap_or(0o777));
        match mkdirat(&above, name, mode) {
            // By this undo, before it was interrupted.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(&change.path, errno)),
        }
    }
    Ok(())
}

/// The deepest first: one that may not be written any more is not written any more.
pub(crate) fn give_modes(root: &Root, set: &ChangeSet) -> Result<(), ChangesError> {
    for (change, mode) in wanted_dirs(set).into_iter().rev() {
        let (above, name) = parent(root, &change.path)?;
        let dir = above.directory(Path::new(name), Links::Refused);
        if let (Some(mode), Ok(dir)) = (mode, dir) {
            moment();
            fchmod(&dir, Mode::from_raw_mode(mode)).map_err(|errno| failed(&change.path, errno))?;
        }
    }
    Ok(())
}

pub(crate) fn wanted_dirs(set: &ChangeSet) -> Vec<(&PathChange, Option<u32>)> {
    let mut dirs: Vec<_> = set
        .changes
        .iter()
        .filter_map(|it| match it.to {
            Node::Directory { mode } => Some((it, mode)),
            _ => None,
        })
        .collect();
    dirs.sort_by_key(|(it, _)| it.path.components().count());
    dirs
}

pub(crate) fn parent<'p>(root: &Root, path: &'p Path) -> Result<(Root, &'p OsStr), ChangesError> {
    let above = path.parent().unwrap_or(Path::new(""));
    let dir = root.directory(above, Links::Refused);
    let dir = dir.map_err(|error| ChangesError::Failed {
        path: path.to_owned(),
        source: io::Error::other(error.to_string()),
    })?;
    Ok((dir, path.file_name().unwrap_or_default()))
}

fn failed(path: &Path, errno: Errno) -> ChangesError {
    ChangesError::Failed {
        path: path.to_owned(),
        source: errno.into(),
    }
}

/// The deepest first. One that holds something else stays.
pub(crate) fn remove_dirs(root: &Root, set: &ChangeSet) -> Result<Vec<PathBuf>, ChangesError> {
    let mut left = vec![];
    let made = set.changes.iter();
    let mut made: Vec<&PathChange> = made
        .filter(|it| matches!(it.from, Node::Directory { .. }) && it.to == Node::Absent)
        .collect();
    made.sort_by_key(|it| std::cmp::Reverse(it.path.components().count()));
    for change in made {
        let Ok((above, name)) = parent(root, &change.path) else {
            continue;
        };
        moment();
        match unlinkat(&above, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => {
                left.push(change.path.clone());
            }
            Err(errno) => return Err(failed(&change.path, errno)),
        }
    }
    Ok(left)
}

/// Best effort: a time that cannot be given back harms nothing.
pub(crate) fn give_times(root: &Root, times: &[DirTime]) {
    for time in times {
        if let Ok(dir) = root.directory(&time.path, Links::Refused) {
            let (tv_sec, nanoseconds) = time.changed;
            let times = Timestamps {
                last_access: Timespec {
                    tv_sec: 0,
                    tv_nsec: UTIME_OMIT,
                },
                last_modification: Timespec {
                    tv_sec,
                    tv_nsec: nanoseconds.into(),
                },
            };
            let _ = futimens(&dir, &times);
        }
    }
}

pub(crate) fn dirs_now(root: &Root, dirs: &[DirTime]) -> Vec<DirTime> {
    let now = dirs.iter().filter_map(|it| {
        let dir = root.directory(&it.path, Links::Refused).ok()?;
        DirTime::of(it.path.clone(), &dir).ok()
    });
    now.collect()
}
