//! What is known of changes while they are made or undone, and how that fails.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use bonded_work_rules::{Node, TreePath};
use rustix::fs::{Mode, fchmod, fstat};

use super::faults::{DiskOperation, Faults};
use super::root::{OWNER_ALL, Root, mode_of};
use super::slot::Slot;
use super::stage::Stage;
use crate::tree::Writers;

/// Changes under way to a tree.
pub(super) struct Settle<'a, 's> {
    pub(super) root: &'a Root,
    pub(super) stage: &'s mut Stage<'a>,
    pub(super) faults: &'a dyn Faults,
    pub(super) writers: &'a dyn Writers,
    pub(super) way: Way,
    /// What each change was found to be, on the way there.
    pub(super) looked: Vec<Side>,
    /// Files whose modes were set, by the numbers of their changes; they are looked at when all is done.
    pub(super) moded: Vec<(usize, File)>,
    /// Where files came out that were replaced; they get their names when all is done.
    pub(super) replaced: Vec<Slot>,
}

/// On which side of a change its path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
    /// What was there is gone, and what comes is not there yet.
    Between,
}

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    There,
    /// With the changes reversed.
    Back,
}

/// An operation that failed, and where.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) at: String,
    pub(super) source: io::Error,
}

impl Settle<'_, '_> {
    /// The directory that holds a path, in which its owner may change names.
    pub(super) fn opened_holder(&self, path: &TreePath) -> io::Result<OwnedFd> {
        let holder = self.root.holder(path)?;
        let mode = mode_of(&fstat(&holder)?);
        if mode & OWNER_ALL != OWNER_ALL {
            self.faults.before(DiskOperation::SetMode)?;
            fchmod(&holder, Mode::from_raw_mode(mode | OWNER_ALL))?;
        }
        Ok(holder)
    }
}

/// Looking at what was put aside failed.
pub(super) fn aside(source: io::Error) -> Failed {
    Failed {
        at: "the files that were replaced".to_owned(),
        source,
    }
}

/// An operation at a path that failed.
pub(super) fn failed(path: &TreePath, source: io::Error) -> Failed {
    Failed {
        at: path.to_string(),
        source,
    }
}

/// Whether a node is at a path by itself, unlike a directory.
pub(super) fn is_leaf(node: &Node) -> bool {
    matches!(node, Node::File { .. } | Node::Link { .. })
}
