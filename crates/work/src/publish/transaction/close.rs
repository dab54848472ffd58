//! The end of making changes: directories get the modes that they are to have, and all that was touched is synced.
//!
//! Directories stay open to their owner while names in them change, and get their modes when all is in place.
//! The deepest come first, since one that is closed cannot be walked through any more. What is synced here
//! makes the changes durable before the journal says that they are made.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use bonded_work_rules::{Change, Node, TreePath};
use rustix::fs::{Mode, fchmod, fstat, fsync};

use super::faults::{DiskOperation, Faults};
use super::journal::ClosedDirectory;
use super::root::{Modes, Root, mode_of, present};
use super::settle_state::Failed;

/// Closes the directories that were opened, the deepest first.
pub(super) fn close(
    root: &Root,
    faults: &dyn Faults,
    changes: &[Change],
    closed: &[ClosedDirectory],
) -> Result<(), Failed> {
    for (path, modes) in touched(changes, closed).into_iter().rev() {
        let directory = present(root.directory(path.as_ref()));
        let closed = directory.map_err(io::Error::from).and_then(|directory| {
            let Some(directory) = directory else {
                return Ok(());
            };
            if let Some(modes) = modes {
                set_mode(&directory, &modes, faults)?;
            }
            faults.before(DiskOperation::Sync)?;
            Ok(fsync(&directory)?)
        });
        closed.map_err(|source| Failed {
            at: path.map_or_else(|| ".".to_owned(), |path| path.to_string()),
            source,
        })?;
    }
    Ok(())
}

/// A mode that is on neither side was set by another, and stays.
fn set_mode(directory: &OwnedFd, modes: &DirectoryModes, faults: &dyn Faults) -> io::Result<()> {
    let seen = mode_of(&fstat(directory)?);
    let is_ours = [Some(modes.after), modes.before]
        .into_iter()
        .flatten()
        .any(|mode| Modes::Opened.agree(seen, mode));
    if seen != modes.after && is_ours {
        faults.before(DiskOperation::SetMode)?;
        fchmod(directory, Mode::from_raw_mode(modes.after))?;
    }
    Ok(())
}

/// The mode that a directory is to have in the end, and the one that it had.
struct DirectoryModes {
    before: Option<u32>,
    after: u32,
}

/// Every directory in which something changed, by path; the root has none and stands first.
///
/// Sorted by path, so that the reverse order has children before their parents.
fn touched(
    changes: &[Change],
    closed: &[ClosedDirectory],
) -> BTreeMap<Option<TreePath>, Option<DirectoryModes>> {
    let mut touched = BTreeMap::new();
    for change in changes {
        touched.entry(change.path.parent()).or_insert(None);
        if let Some(after) = directory_mode(&change.after) {
            let before = directory_mode(&change.before);
            let modes = DirectoryModes { before, after };
            touched.insert(Some(change.path.clone()), Some(modes));
        }
    }
    for ClosedDirectory { path, mode } in closed {
        let modes = DirectoryModes {
            before: None,
            after: *mode,
        };
        touched.insert(path.clone(), Some(modes));
    }
    touched
}

/// Nothing for what is no directory.
fn directory_mode(node: &Option<Node>) -> Option<u32> {
    match node {
        Some(Node::Directory { mode }) => Some(*mode),
        Some(Node::File { .. } | Node::Link { .. } | Node::Special { .. }) | None => None,
    }
}
