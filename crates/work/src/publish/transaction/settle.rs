//! Brings a tree from one side of its changes to the other. Every path is looked at before the first is touched: what
//! is on the far side already is left, so the same can be done again after a crash, and what is on neither side was
//! changed by another. Then names are changed and nothing else is done, so that the tree is between two states as
//! shortly as can be; what came out is looked at when all are. On the way back each path is looked at just before it
//! is touched.

use std::collections::BTreeSet;
use std::io;

use bonded_work_rules::{Change, Node, TreePath};
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use super::close::close;
use super::faults::DiskOperation;
use super::journal::{ClosedDirectory, Journal, Progress};
use super::root::{Modes, name, present};
use super::settle_state::{Failed, Settle, Side, Way, aside, failed, is_leaf};

type Foreign = BTreeSet<TreePath>;

impl Settle<'_, '_> {
    /// Makes the changes, given from the near side to the far one. Says which paths are another's; on the way there it
    /// stops at those, and only a part of the changes is made; on the way back it leaves them.
    fn all(&mut self, changes: &[Change], closed: &[ClosedDirectory]) -> Result<Foreign, Failed> {
        let mut foreign = Foreign::new();
        let stops = self.way == Way::There;
        if stops {
            self.looked.clear();
            for change in changes {
                self.note(change, &mut foreign, |settle| settle.look(change))?;
            }
            if !foreign.is_empty() {
                return Ok(foreign);
            }
        }
        self.change_names(changes, &mut foreign)?;
        self.name_replaced().map_err(aside)?;
        if stops && !foreign.is_empty() {
            return Ok(foreign);
        }
        close(self.root, self.faults, changes, closed)?;
        Ok(foreign)
    }

    /// On the way there this is all that happens while the tree is between two states.
    fn change_names(&mut self, changes: &[Change], foreign: &mut Foreign) -> Result<(), Failed> {
        let stops = self.way == Way::There;
        for (number, change) in changes.iter().enumerate().rev() {
            self.note(change, foreign, |settle| settle.remove(number, change))?;
            if stops && !foreign.is_empty() {
                return Ok(());
            }
        }
        for (number, change) in changes.iter().enumerate() {
            self.note(change, foreign, |settle| settle.make(number, change))?;
            if stops && !foreign.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Finds out on which side a change is. False where it is on none.
    fn look(&mut self, change: &Change) -> io::Result<bool> {
        let path = &change.path;
        let side = if self.is_after(change)? {
            Side::After
        } else if self.root.is(path, change.before.as_ref(), Modes::Opened)? {
            Side::Before
        } else if goes(change) && self.root.stat(path)?.is_none() {
            Side::Between
        } else {
            return Ok(false);
        };
        self.looked.push(side);
        Ok(true)
    }

    /// Asked on the way there alone, where every change was looked at before the first was made.
    fn side(&self, number: usize) -> Side {
        self.looked.get(number).copied().unwrap_or(Side::Before)
    }

    /// After a crash: finds out what is staged and what was put aside.
    pub(super) fn tidy(&mut self, changes: &[Change]) -> Result<(), Failed> {
        for (number, change) in changes.iter().enumerate() {
            let tidied = self.tidy_one(number, change);
            tidied.map_err(|source| failed(&change.path, source))?;
        }
        Ok(())
    }

    fn tidy_one(&mut self, number: usize, change: &Change) -> io::Result<()> {
        let after = change.after.as_ref().filter(|node| is_leaf(node));
        let holder = present(self.root.holder(&change.path))?;
        let path = name(&change.path);
        if let Some(slot) = self.stage.slot_there(number)
            && slot.tidy(after, holder.as_ref(), path)?
        {
            self.stage.has_staged(number);
        }
        for slot in self.slots(number, &change.path)? {
            slot.tidy(after, holder.as_ref(), path)?;
        }
        Ok(())
    }

    /// Removes what is still beside the paths, when all is done.
    pub(super) fn sweep(&self, changes: &[Change]) -> Result<(), Failed> {
        for (number, change) in changes.iter().enumerate() {
            let slots = self.slots(number, &change.path);
            for slot in slots.map_err(|source| failed(&change.path, source))? {
                let swept = slot.all().iter().try_for_each(|name| slot.remove(name));
                swept.map_err(|errno| failed(&change.path, errno.into()))?;
            }
        }
        Ok(())
    }

    /// Errors that only mean that somebody was faster are no failures: the path becomes another's. A directory
    /// that is not empty is blamed on what is in it.
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
    ///
    /// Called from the last path to the first, so that a directory comes after what is in it.
    fn remove(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let Some(before) = change.before.as_ref().filter(|_| goes(change)) else {
            return Ok(true);
        };
        let path = &change.path;
        let is_leaf = is_leaf(before);
        match self.way {
            Way::There if self.side(number) != Side::Before => return Ok(true),
            Way::There if is_leaf => return self.take(number, change).map(|()| true),
            Way::There => {}
            Way::Back => {
                // A crash came before a save that had been taken away with ours was given back.
                if is_leaf && self.give_up(number, change, before)? {
                    return Ok(false);
                }
                let is_gone = self.root.stat(path)?.is_none();
                if is_gone || (change.after.is_some() && self.is_after(change)?) {
                    return Ok(true);
                }
                if !self.root.is(path, Some(before), Modes::Opened)? {
                    return Ok(false);
                }
                if is_leaf {
                    return self.take_back(number, change, before);
                }
            }
        }
        let holder = self.opened_holder(path)?;
        self.faults.before(DiskOperation::RemoveDirectory)?;
        unlinkat(&holder, name(path), AtFlags::REMOVEDIR)?;
        Ok(true)
    }

    /// Puts there what comes. False where there is something of another's.
    ///
    /// Called from the first path to the last, so that a directory comes before what is in it.
    fn make(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let Some(after) = &change.after else {
            return Ok(true);
        };
        let replaced = change.before.as_ref().filter(|_| !goes(change));
        let is_mode = replaced.is_some_and(|before| is_mode_alone(before, after));
        if self.way == Way::Back && is_leaf(after) && !is_mode {
            return self.put_back(number, change);
        }
        match self.way {
            Way::There if self.side(number) == Side::After => return Ok(true),
            Way::There => {}
            Way::Back if self.is_after(change)? => return Ok(true),
            Way::Back if !self.root.is(&change.path, replaced, Modes::Opened)? => {
                return Ok(false);
            }
            Way::Back => {}
        }
        match (replaced, after) {
            // The mode is set when all else is done.
            (Some(_), Node::Directory { .. }) => Ok(true),
            (None, Node::Directory { .. }) => {
                let holder = self.opened_holder(&change.path)?;
                self.faults.before(DiskOperation::MakeDirectory)?;
                mkdirat(&holder, name(&change.path), Mode::RWXU)?;
                Ok(true)
            }
            (None, Node::File { .. } | Node::Link { .. } | Node::Special { .. }) => {
                self.place_new(number, change)
            }
            (Some(_), Node::File { .. } | Node::Link { .. } | Node::Special { .. }) => {
                match is_mode {
                    true => self.set_mode(number, change),
                    false => self.replace(number, change),
                }
            }
        }
    }

    fn is_after(&self, change: &Change) -> io::Result<bool> {
        self.root
            .is(&change.path, change.after.as_ref(), Modes::Opened)
    }
}

/// Makes the changes, up to the first path that is another's.
pub(super) fn make(settle: &mut Settle<'_, '_>, journal: &Journal) -> Result<Progress, Failed> {
    settle.way = Way::There;
    let mut foreign = settle.all(&journal.changes, &journal.closed)?;
    if foreign.is_empty() {
        let moded = settle.modes_of_others(&journal.changes);
        foreign.extend(moded.map_err(aside)?);
        let written = settle.written_aside(&journal.changes);
        foreign.extend(written.map_err(aside)?);
    }
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
    settle.way = Way::Back;
    let back: Vec<Change> = journal.changes.iter().cloned().map(reversed).collect();
    let mut all = settle.all(&back, &journal.closed)?;
    all.extend(foreign.iter().cloned());
    Ok(all.into_iter().collect())
}

/// Undoing is making the same changes with their sides exchanged.
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

/// Then the file itself stays, with whoever has it open.
fn is_mode_alone(before: &Node, after: &Node) -> bool {
    let content_of = |node: &Node| match node {
        Node::File { content, .. } => Some(*content),
        Node::Link { .. } | Node::Directory { .. } | Node::Special { .. } => None,
    };
    content_of(before).is_some_and(|content| content_of(after) == Some(content))
}
