//! Brings a tree from one side of its changes to the other. Each path is looked at just before it is touched: what
//! is on the far side already is left, so the same can be done again after a crash, and what is on neither side was
//! changed by another.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;

use bonded_kernel::work::{Change, Node, TreePath};
use rustix::fs::{
    AtFlags, Mode, RenameFlags, fchmod, fstat, mkdirat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::close::close;
use super::faults::{Faults, Operation};
use super::journal::{ClosedDirectory, Journal, Progress};
use super::root::{Modes, OWNER_ALL, Root, mode_of, name, present};
use super::stage::{OWN_NAME, Stage};

pub(super) struct Settle<'a, 's> {
    pub(super) root: &'a Root,
    pub(super) stage: &'s mut Stage<'a>,
    pub(super) faults: &'a dyn Faults,
}

/// What is done when a path turns out to be another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtForeign {
    Stop,
    LeaveIt,
}

/// An operation that failed, and where.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) at: String,
    pub(super) source: io::Error,
}

type Foreign = BTreeSet<TreePath>;

impl Settle<'_, '_> {
    /// Makes the changes, given from the near side to the far one. Says which paths are another's; where it
    /// stops at those, only a part of the changes is made.
    fn all(
        &mut self,
        changes: &[Change],
        closed: &[ClosedDirectory],
        at_foreign: AtForeign,
    ) -> Result<Foreign, Failed> {
        let mut foreign = Foreign::new();
        for change in changes.iter().rev() {
            self.note(change, &mut foreign, |settle| settle.remove(change))?;
            if at_foreign == AtForeign::Stop && !foreign.is_empty() {
                return Ok(foreign);
            }
        }
        for (number, change) in changes.iter().enumerate() {
            self.note(change, &mut foreign, |settle| settle.make(number, change))?;
            if at_foreign == AtForeign::Stop && !foreign.is_empty() {
                return Ok(foreign);
            }
        }
        close(self.root, self.faults, changes, closed)?;
        Ok(foreign)
    }

    /// Removes what a crash may have left beside the paths.
    fn sweep(&self, changes: &[Change]) -> Result<(), Failed> {
        for (number, change) in changes.iter().enumerate() {
            let removed = present(self.root.holder(&change.path))
                .and_then(|holder| match holder {
                    Some(holder) => present(unlinkat(holder, beside(number), AtFlags::empty())),
                    None => Ok(None),
                })
                .map_err(io::Error::from);
            removed.map_err(|source| failed(&change.path, source))?;
        }
        Ok(())
    }

    fn note(
        &mut self,
        change: &Change,
        foreign: &mut Foreign,
        act: impl FnOnce(&mut Self) -> io::Result<bool>,
    ) -> Result<(), Failed> {
        let path = &change.path;
        match act(self) {
            Ok(true) => {}
            Ok(false) => {
                foreign.insert(path.clone());
            }
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOTEMPTY) => {
                    let strays = self.root.children(path);
                    foreign.extend(strays.map_err(|source| failed(path, source))?);
                }
                // Somebody was faster, here or on the way to here.
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::ISDIR) => {
                    foreign.insert(path.clone());
                }
                _ => return Err(failed(path, error)),
            },
        }
        Ok(())
    }

    /// Takes away what goes or makes room. False where it is another's.
    fn remove(&mut self, change: &Change) -> io::Result<bool> {
        let Some(before) = change.before.as_ref().filter(|_| goes(change)) else {
            return Ok(true);
        };
        let path = &change.path;
        let is_gone = self.root.stat(path)?.is_none();
        if is_gone || (change.after.is_some() && self.is_after(change)?) {
            return Ok(true);
        }
        if !self.root.is(path, Some(before), Modes::Opened)? {
            return Ok(false);
        }
        let holder = self.opened_holder(path)?;
        let (operation, flags) = match before {
            Node::Directory { .. } => (Operation::RemoveDirectory, AtFlags::REMOVEDIR),
            _ => (Operation::RemoveFile, AtFlags::empty()),
        };
        self.faults.before(operation)?;
        unlinkat(&holder, name(path), flags)?;
        Ok(true)
    }

    /// Puts there what comes. False where there is something of another's.
    fn make(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let Some(after) = &change.after else {
            return Ok(true);
        };
        if self.is_after(change)? {
            return Ok(true);
        }
        let replaced = change.before.as_ref().filter(|_| !goes(change));
        if !self.root.is(&change.path, replaced, Modes::Opened)? {
            return Ok(false);
        }
        match (replaced, after) {
            // The mode is set when all else is done.
            (Some(_), Node::Directory { .. }) => Ok(true),
            (None, Node::Directory { .. }) => {
                let holder = self.opened_holder(&change.path)?;
                self.faults.before(Operation::MakeDirectory)?;
                mkdirat(&holder, name(&change.path), Mode::RWXU)?;
                Ok(true)
            }
            (Some(before), after) if is_mode_alone(before, after) => {
                self.set_mode(number, change, after)
            }
            (replaced, _) => self.place(number, change, replaced.is_none()),
        }
    }

    fn is_after(&self, change: &Change) -> io::Result<bool> {
        self.root
            .is(&change.path, change.after.as_ref(), Modes::Opened)
    }

    fn set_mode(&mut self, number: usize, change: &Change, after: &Node) -> io::Result<bool> {
        let Node::File { mode, .. } = after else {
            return Ok(true);
        };
        let file = match self.root.file(&change.path) {
            // Who may not read it may still put an equal one in its place.
            Err(Errno::ACCESS) => return self.place(number, change, false),
            file => file?,
        };
        let Some(file) = file else {
            return Ok(false);
        };
        self.faults.before(Operation::SetMode)?;
        fchmod(&file, Mode::from_raw_mode(*mode))?;
        file.sync_all()?;
        Ok(true)
    }

    /// Renames what is staged to its path.
    fn place(&mut self, number: usize, change: &Change, is_new: bool) -> io::Result<bool> {
        let path = &change.path;
        self.stage.put(number, change)?;
        let holder = self.opened_holder(path)?;
        let (staged_in, staged) = self.stage.staged(number)?;
        let renamed = self.faults.before(Operation::Rename).and_then(|()| {
            let (old, new) = (staged.as_bytes(), name(path));
            Ok(rename(&staged_in, old, &holder, new, is_new)?)
        });
        match renamed {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {
                self.place_beside(number, change, &holder, is_new)?;
            }
            renamed => renamed?,
        }
        Ok(true)
    }

    /// Another file system is mounted inside the tree, or the same one twice: what is staged cannot be renamed
    /// into it.
    fn place_beside(
        &self,
        number: usize,
        change: &Change,
        holder: &OwnedFd,
        is_new: bool,
    ) -> io::Result<()> {
        let Some(after) = &change.after else {
            return Ok(());
        };
        let beside = beside(number);
        let path = &change.path;
        self.stage
            .writer()
            .write(holder, beside.as_bytes(), path, after)?;
        self.faults.before(Operation::Rename)?;
        let renamed = rename(holder, beside.as_bytes(), holder, name(path), is_new);
        if renamed.is_err() {
            unlinkat(holder, beside, AtFlags::empty())?;
        }
        Ok(renamed?)
    }

    /// The directory that holds a path, in which its owner may change names.
    fn opened_holder(&self, path: &TreePath) -> io::Result<OwnedFd> {
        let holder = self.root.holder(path)?;
        let mode = mode_of(&fstat(&holder)?);
        if mode & OWNER_ALL != OWNER_ALL {
            self.faults.before(Operation::SetMode)?;
            fchmod(&holder, Mode::from_raw_mode(mode | OWNER_ALL))?;
        }
        Ok(holder)
    }
}

/// Makes the changes, up to the first path that is another's.
pub(super) fn make(settle: &mut Settle<'_, '_>, journal: &Journal) -> Result<Progress, Failed> {
    settle.sweep(&journal.changes)?;
    let foreign = settle.all(&journal.changes, &journal.closed, AtForeign::Stop)?;
    Ok(match foreign.is_empty() {
        true => Progress::Made,
        false => Progress::Undoing {
            foreign: foreign.into_iter().collect(),
        },
    })
}

/// Undoes what is made, and says which paths are another's.
pub(super) fn undo(
    settle: &mut Settle<'_, '_>,
    journal: &Journal,
    foreign: &[TreePath],
) -> Result<Vec<TreePath>, Failed> {
    settle.sweep(&journal.changes)?;
    settle.stage.empty().map_err(|source| Failed {
        at: "the staged files".to_owned(),
        source,
    })?;
    let back: Vec<Change> = journal.changes.iter().cloned().map(reversed).collect();
    let mut all = settle.all(&back, &journal.closed, AtForeign::LeaveIt)?;
    all.extend(foreign.iter().cloned());
    Ok(all.into_iter().collect())
}

fn reversed(change: Change) -> Change {
    Change {
        path: change.path,
        before: change.after,
        after: change.before,
    }
}

/// Whether what is at a path must be gone before anything else can be there.
fn goes(change: &Change) -> bool {
    let is_directory = |node: &Node| matches!(node, Node::Directory { .. });
    match (&change.before, &change.after) {
        (Some(_), None) => true,
        (Some(before), Some(after)) => is_directory(before) != is_directory(after),
        (None, _) => false,
    }
}

fn is_mode_alone(before: &Node, after: &Node) -> bool {
    match (before, after) {
        (Node::File { content: a, .. }, Node::File { content: b, .. }) => a == b,
        _ => false,
    }
}

fn beside(number: usize) -> String {
    format!("{OWN_NAME}-{number}")
}

/// What is new must not take the place of what somebody made a moment ago.
fn rename(from: &OwnedFd, old: &[u8], to: &OwnedFd, new: &[u8], is_new: bool) -> Result<(), Errno> {
    if is_new {
        match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
            // Not every file system can say so.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return renamed,
        }
    }
    renameat(from, old, to, new)
}

fn failed(path: &TreePath, source: io::Error) -> Failed {
    Failed {
        at: path.to_string(),
        source,
    }
}
