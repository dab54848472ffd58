//! Files and links at their paths. What is replaced or taken away is never gone at once: it is put aside and looked
//! at there, so that a save which came a moment before is seen, and put back.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bonded_kernel::Hash;
use bonded_work_rules::{Change, Node, TreePath};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;

use super::faults::DiskOperation;
use super::root::{Modes, content_of, file_at, name, present};
use super::settle_state::{Settle, Way, is_leaf};
use super::slot::Slot;
use super::stage::OWN_NAME;
use crate::tree::FileId;

/// So many saves of others during one exchange are no accident.
///
/// Each takes a few system calls: a process that saves as often as that means to.
const EXCHANGES_MAX: usize = 1000;

/// A file that was replaced, held open: somebody may have it open too, and write to it still.
#[derive(Debug)]
pub struct ReplacedFile {
    /// Where it was.
    pub path: TreePath,
    content: Hash,
    file: File,
}

impl ReplacedFile {
    /// The file, if somebody wrote to it after it was replaced.
    pub fn written(&self) -> io::Result<Option<&File>> {
        let now = content_of(&self.file)?;
        Ok((now != self.content).then_some(&self.file))
    }
}

impl Settle<'_, '_> {
    /// Puts what is staged where nothing is.
    pub(super) fn place_new(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let holder = self.opened_holder(&change.path)?;
        let place = |slot: &Slot| slot.give(slot.ours(), &holder, name(&change.path));
        self.with_staged(number, change, &holder, place)?;
        Ok(true)
    }

    /// Puts what is staged in the place of what is there, which waits aside. On the way there it is looked at later, in
    /// the [last look](Self::written_aside); else false where it turns out to be another's.
    pub(super) fn replace(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let holder = self.opened_holder(&change.path)?;
        let place = |slot: &Slot| slot.exchange(slot.ours(), &holder, name(&change.path));
        let slot = self.with_staged(number, change, &holder, place)?;
        self.replaced.push(slot);
        if self.way == Way::There {
            return Ok(true);
        }
        self.name_replaced()?;
        match (&change.before, self.aside(number, &change.path)?) {
            (Some(before), Some(slot)) => slot.is(&slot.out(), before),
            _ => Ok(true),
        }
    }

    /// Names what came out when files were replaced. A crash before that is seen by what is in it.
    pub(super) fn name_replaced(&mut self) -> io::Result<()> {
        for slot in std::mem::take(&mut self.replaced) {
            self.faults.before(DiskOperation::PutAside)?;
            slot.rename(slot.ours(), &slot.out())?;
        }
        Ok(())
    }

    /// What is staged cannot be renamed into another file system that is mounted inside the tree, nor where the same
    /// one is mounted twice: there it is written beside its path.
    fn with_staged(
        &mut self,
        number: usize,
        change: &Change,
        holder: &OwnedFd,
        place: impl Fn(&Slot) -> Result<(), Errno>,
    ) -> io::Result<Slot> {
        self.stage.put(number, change)?;
        let slot = self.stage.slot(number)?;
        let placed = self.faults.before(DiskOperation::Rename);
        let placed = placed.and_then(|()| Ok(place(&slot)?));
        match placed {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {}
            placed => return placed.map(|()| slot),
        }
        let slot = beside(number, holder)?;
        if let Some(after) = &change.after {
            let writer = self.stage.writer();
            writer.write_whole(&slot, &change.path, after, slot.ours())?;
        }
        self.faults.before(DiskOperation::Rename)?;
        place(&slot)?;
        Ok(slot)
    }

    /// Takes away what goes. It waits aside, and is looked at there.
    pub(super) fn take(&mut self, number: usize, change: &Change) -> io::Result<()> {
        let holder = self.opened_holder(&change.path)?;
        let mut slot = self.stage.slot(number)?;
        self.faults.before(DiskOperation::PutAside)?;
        match slot.take(&holder, name(&change.path), &slot.out()) {
            Err(Errno::XDEV) => {
                slot = beside(number, &holder)?;
                slot.take(&holder, name(&change.path), &slot.out())?;
            }
            taken => taken?,
        }
        Ok(())
    }

    /// Takes away again what was ours and new. A save that came a moment before is given back.
    pub(super) fn take_back(
        &mut self,
        number: usize,
        change: &Change,
        ours: &Node,
    ) -> io::Result<bool> {
        self.take(number, change)?;
        Ok(!self.give_up(number, change, ours)?)
    }

    /// Removes what waits aside where it is ours, and else gives it back. Says whether it did that.
    pub(super) fn give_up(
        &mut self,
        number: usize,
        change: &Change,
        ours: &Node,
    ) -> io::Result<bool> {
        match self.aside(number, &change.path)? {
            Some(slot) if is_ours(&slot, Some(ours))? => {
                self.faults.before(DiskOperation::RemoveFile)?;
                slot.remove(&slot.out())?;
                Ok(false)
            }
            _ => self.give_back(number, change),
        }
    }

    /// Gives back what waits aside, if there is anything, unless somebody made a new one at its path.
    fn give_back(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let Some(slot) = self.aside(number, &change.path)? else {
            return Ok(false);
        };
        let holder = self.opened_holder(&change.path)?;
        self.faults.before(DiskOperation::Rename)?;
        slot.give(&slot.out(), &holder, name(&change.path))?;
        Ok(true)
    }

    /// Puts back what was replaced or taken away, the very file, with whatever was written to it since. `change` is
    /// the way back. False where the path is another's.
    pub(super) fn put_back(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let path = &change.path;
        let ours = change.before.as_ref().filter(|node| is_leaf(node));
        let slot = match self.aside(number, path)? {
            Some(slot) if !is_ours(&slot, ours)? => slot,
            // It is back already, or was never away.
            _ if self.root.is(path, change.after.as_ref(), Modes::Opened)? => return Ok(true),
            _ if !self.root.is(path, ours, Modes::Opened)? => return Ok(false),
            _ => self.written_again(number, change)?,
        };
        if !self.root.is(path, ours, Modes::Opened)? {
            return Ok(false);
        }
        let is_back = match ours {
            None => self.give_back(number, change)?,
            Some(ours) => self.exchange_back(&slot, path, ours)?,
        };
        Ok(is_back && self.root.is(path, change.after.as_ref(), Modes::Opened)?)
    }

    /// What was at the path, from what is kept of it. Only what an earlier version of this program left needs it.
    fn written_again(&mut self, number: usize, change: &Change) -> io::Result<Slot> {
        let slot = self.stage.slot(number)?;
        if let Some(node) = &change.after {
            let writer = self.stage.writer();
            writer.write_whole(&slot, &change.path, node, &slot.out())?;
        }
        Ok(slot)
    }

    /// Exchanges until what is at the path is the newest that anybody put there. True where that is what we put back.
    fn exchange_back(&self, slot: &Slot, path: &TreePath, ours: &Node) -> io::Result<bool> {
        let holder = self.opened_holder(path)?;
        let out = slot.out();
        let mut older = slot.file_id(&out)?;
        self.faults.before(DiskOperation::Rename)?;
        slot.exchange(&out, &holder, name(path))?;
        if slot.is(&out, ours)? {
            return Ok(true);
        }
        for _ in 0..EXCHANGES_MAX {
            // Somebody saved in between: what came out is newer than what went in.
            let newer = slot.file_id(&out)?;
            slot.exchange(&out, &holder, name(path))?;
            if slot.file_id(&out)? == older {
                return Ok(false);
            }
            older = newer;
        }
        Err(io::Error::other("another process keeps writing to it"))
    }

    /// Sets a mode, if the file is what it should be before and after that. On the way there it was looked at before,
    /// and is once more [when all is done](Self::modes_of_others).
    pub(super) fn set_mode(&mut self, number: usize, change: &Change) -> io::Result<bool> {
        let (Some(Node::File { mode, content, .. }), Some(Node::File { mode: was, .. })) =
            (&change.after, &change.before)
        else {
            return Ok(true);
        };
        let file = match self.root.file(&change.path) {
            // Who may not read it may still put an equal one in its place.
            Err(Errno::ACCESS) => return self.replace(number, change),
            file => file?,
        };
        let Some(file) = file else {
            return Ok(false);
        };
        if self.way == Way::Back && content_of(&file)? != *content {
            return Ok(false);
        }
        self.faults.before(DiskOperation::SetMode)?;
        fchmod(&file, Mode::from_raw_mode(*mode))?;
        if self.way == Way::There {
            self.moded.push((number, file));
            return Ok(true);
        }
        if content_of(&file)? != *content {
            fchmod(&file, Mode::from_raw_mode(*was))?;
            return Ok(false);
        }
        file.sync_all()?;
        Ok(true)
    }

    /// The paths whose modes were set although what was there was another's; those have their modes again.
    pub(super) fn modes_of_others(&mut self, changes: &[Change]) -> io::Result<Vec<TreePath>> {
        let mut others = vec![];
        for (number, file) in std::mem::take(&mut self.moded) {
            let change = &changes[number];
            let Some(Node::File { mode, content, .. }) = &change.before else {
                continue;
            };
            if content_of(&file)? == *content {
                file.sync_all()?;
            } else {
                fchmod(&file, Mode::from_raw_mode(*mode))?;
                others.push(change.path.clone());
            }
        }
        Ok(others)
    }

    /// The last look, when everything is in its place: those paths whose files somebody has open for writing, or wrote
    /// to while they waited. What nobody has open by now, nobody can open again.
    pub(super) fn written_aside(&self, changes: &[Change]) -> io::Result<Vec<TreePath>> {
        let mut waiting = vec![];
        for (number, change) in changes.iter().enumerate() {
            let before = change.before.as_ref().filter(|node| is_leaf(node));
            if let (Some(before), Some(slot)) = (before, self.aside(number, &change.path)?) {
                waiting.push((slot.file_id(&slot.out())?, slot, before, &change.path));
            }
        }
        let files: Vec<FileId> = waiting.iter().map(|(file, ..)| *file).collect();
        let open = self.writers.written(&files);
        let mut written = vec![];
        for (file, slot, before, path) in waiting {
            if open.contains(&file) || !slot.is(&slot.out(), before)? {
                written.push(path.clone());
            }
        }
        Ok(written)
    }

    /// The files that wait aside and are about to be removed.
    pub(super) fn replaced(&self, changes: &[Change]) -> io::Result<Vec<ReplacedFile>> {
        let mut replaced = vec![];
        for (number, change) in changes.iter().enumerate() {
            let Some(Node::File { content, .. }) = change.before else {
                continue;
            };
            let Some(slot) = self.aside(number, &change.path)? else {
                continue;
            };
            // One that may not be read has nothing that could be looked at later.
            if let Ok(Some(file)) = file_at(&slot.dir, slot.out().as_bytes()) {
                let path = change.path.clone();
                replaced.push(ReplacedFile {
                    path,
                    content,
                    file,
                });
            }
        }
        Ok(replaced)
    }

    /// Where what was at a path waits.
    fn aside(&self, number: usize, path: &TreePath) -> io::Result<Option<Slot>> {
        for slot in self.slots(number, path)? {
            if slot.has(&slot.out())? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// Where things of a change may be.
    pub(super) fn slots(&self, number: usize, path: &TreePath) -> io::Result<Vec<Slot>> {
        let mut slots: Vec<Slot> = self.stage.slot_there(number).into_iter().collect();
        if let Some(holder) = present(self.root.holder(path))? {
            slots.push(beside(number, &holder)?);
        }
        Ok(slots)
    }
}

/// Where nothing of ours can be there, what is there is another's.
fn is_ours(slot: &Slot, ours: Option<&Node>) -> io::Result<bool> {
    ours.map_or(Ok(false), |ours| slot.is(&slot.out(), ours))
}

/// Names beside a path, for what cannot be renamed to it from anywhere else.
///
/// The names begin with the one that no path of a change may have.
fn beside(number: usize, holder: &OwnedFd) -> io::Result<Slot> {
    let holder = Arc::new(holder.try_clone()?);
    Ok(Slot::new(holder, format!("{OWN_NAME}-{number}")))
}
