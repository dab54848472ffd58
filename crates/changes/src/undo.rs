//! Undo: several paths are made what they were, all of them or none, whatever interrupts it.
//!
//! What is to be done is written to the record before anything is touched, so that the next command can complete it or
//! take it back after a crash. Then everything is made beside its place, which is all that needs room on the disk; then
//! each path is exchanged; then the record says so, and from there on only leftovers are removed. Where anything fails
//! before that, or is not as it was seen, all paths are put back.

use std::io;
use std::path::{Path, PathBuf};

use bonded_kernel::{Hash, RunId};
use bonded_tools::beneath::{Links, Root};
use bonded_tools::remove_unfinished;
use rustix::fs::{AtFlags, unlinkat};

use crate::dirs::{dirs_now, give_modes, give_times, make_dirs, parent, remove_dirs, wanted_dirs};
use crate::error::ChangesError;
use crate::frame::{ChangeSet, Frame, Outcome, PathChange};
use crate::moment::moment;
use crate::node::{Node, content};
use crate::plan::{Obstacle, UndoPlan, Wanted, dirs_of, open_root, unfinished};
use crate::record::Record;
use crate::records::Records;
use crate::slot::UndoSlot;

/// What came of an undo.
#[derive(Debug)]
pub enum Undone {
    /// There was nothing to do.
    Nothing,
    /// Nothing was touched, because of these.
    Refused(Vec<Obstacle>),
    /// It was done.
    Done {
        /// What was changed.
        changes: Vec<PathChange>,
        /// What was left as it is, because that was asked for.
        left: Vec<Obstacle>,
        /// What could not be tidied up.
        leftovers: Leftovers,
    },
}

/// What an undo that was done could not tidy up.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Directories that the run made and that hold something else by now.
    pub directories: Vec<PathBuf>,
    /// Files that somebody wrote to while they were being exchanged; what they wrote is there.
    pub written: Vec<PathBuf>,
}

/// What was found of an undo that a crash had interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// There was none.
    Nothing,
    /// It was completed.
    Completed,
    /// It could not be: everything is as it was before it.
    TakenBack,
}

impl Records {
    /// Completes an undo of the run that a crash interrupted, or takes it back where somebody changed something since.
    pub fn settle(&self, run: &RunId) -> Result<Settled, ChangesError> {
        // Who only looks may not be allowed to write.
        if !self.note_of(run).is_there() {
            return Ok(Settled::Nothing);
        }
        let Some(mut record) = self.to_write(run)? else {
            return Ok(Settled::Nothing);
        };
        let _lock = record.lock()?;
        record.catch_up()?;
        let settled = settle(&mut record)?;
        self.note_of(run).remove();
        Ok(settled)
    }

    /// What an undo would do. `turn_of` says which turn of this run a call of another one belongs to.
    pub fn plan(
        &self,
        run: &RunId,
        wanted: &Wanted,
        turn_of: &dyn Fn(&RunId, u32) -> Option<u32>,
    ) -> Result<Option<UndoPlan>, ChangesError> {
        let Some(record) = self.of_run(run)? else {
            return Ok(None);
        };
        let Some((_, dir)) = record.began() else {
            return Ok(None);
        };
        let root = open_root(dir)?;
        Ok(Some(UndoPlan::make(&record, &root, wanted, turn_of)))
    }

    /// Makes the directory of a run what it was. Where something stands in the way nothing is touched, unless only what
    /// can be undone is wanted (`partial`).
    pub fn undo(
        &self,
        run: &RunId,
        wanted: &Wanted,
        partial: bool,
        turn_of: &dyn Fn(&RunId, u32) -> Option<u32>,
    ) -> Result<Undone, ChangesError> {
        let Some(mut record) = self.to_write(run)? else {
            return Ok(Undone::Nothing);
        };
        let _lock = record.lock()?;
        record.catch_up()?;
        settle(&mut record)?;
        let Some((_, dir)) = record.began() else {
            return Ok(Undone::Nothing);
        };
        let root = open_root(dir)?;
        let plan = UndoPlan::make(&record, &root, wanted, turn_of);
        if plan.is_empty() {
            return Ok(Undone::Nothing);
        }
        if !partial && !plan.obstacles.is_empty() {
            return Ok(Undone::Refused(plan.obstacles));
        }
        if plan.changes.is_empty() && plan.leftovers.is_empty() {
            return Ok(Undone::Refused(plan.obstacles));
        }
        let note = self.note(run)?;
        let done = carry_out(&mut record, &root, plan);
        if unfinished(&record).is_none() {
            note.remove();
        }
        done
    }

    /// Brings to an end what crashes interrupted, of all runs.
    pub fn settle_all(&self) -> Result<(), ChangesError> {
        for run in self.noted() {
            self.settle(&run)?;
        }
        Ok(())
    }
}

/// Writes down what is to be done, and does it.
fn carry_out(record: &mut Record, root: &Root, plan: UndoPlan) -> Result<Undone, ChangesError> {
    let UndoPlan {
        changes,
        obstacles,
        times,
        leftovers,
        by,
    } = plan;
    let paths = changes.iter().map(|it| &*it.path);
    let paths = paths.chain(leftovers.iter().map(PathBuf::as_path));
    // One that only gets its time back has had another, which a redo gives back.
    let above = paths.filter_map(Path::parent);
    let dirs = above.chain(times.iter().map(|it| &*it.path));
    let set = ChangeSet {
        set: record.next_set(),
        by,
        dirs: dirs_of(root, dirs),
        changes,
        times,
        leftovers,
    };
    record.reserve(set.changes.len())?;
    keep_what_is_there(record, root, &set.changes)?;
    record.append(&[(&Frame::Changing(set.clone()), &[])], true)?;
    let leftovers = match put(record, root, &set) {
        Ok(()) => finish(record, root, &set)?,
        Err(error) => {
            take_back(record, root, &set)?;
            return Err(error);
        }
    };
    Ok(Undone::Done {
        changes: set.changes,
        left: obstacles,
        leftovers,
    })
}

/// Without it an undo could not be undone.
fn keep_what_is_there(
    record: &mut Record,
    root: &Root,
    changes: &[PathChange],
) -> Result<(), ChangesError> {
    for change in changes {
        let Some(hash) = change.from.content().filter(|it| !record.can_restore(it)) else {
            continue;
        };
        let path = &change.path;
        let failed = |source| ChangesError::Failed {
            path: path.clone(),
            source,
        };
        let above = path.parent().unwrap_or(Path::new(""));
        let dir = root.directory(above, Links::Refused);
        let dir = dir.map_err(|error| failed(io::Error::other(error.to_string())))?;
        let name = path.file_name().unwrap_or_default();
        let bytes = content(&dir, name).map_err(failed)?;
        match bytes.filter(|bytes| Hash::of(bytes) == hash) {
            Some(bytes) => {
                let frame = Frame::Kept { hash, base: None };
                record.append(&[(&frame, &bytes)], false)?;
            }
            None => return Err(ChangesError::Meddled { path: path.clone() }),
        }
    }
    Ok(())
}

/// What tells the names of an undo from those of every other.
fn name_of(record: &Record, set: &ChangeSet) -> String {
    let run = record.began().map(|(run, _)| run.as_str());
    format!("{}/undo/{}", run.unwrap_or_default(), set.set)
}

fn slots<'a>(
    record: &Record,
    root: &Root,
    set: &'a ChangeSet,
) -> Result<Vec<UndoSlot<'a>>, ChangesError> {
    let name = name_of(record, set);
    let is_dir = |node: &Node| matches!(node, Node::Directory { .. });
    let files = set
        .changes
        .iter()
        .filter(|it| !is_dir(&it.from) && !is_dir(&it.to));
    files
        .map(|change| UndoSlot::open(root, &name, change))
        .collect()
}

/// Makes everything beside its place, and exchanges it.
fn put(record: &mut Record, root: &Root, set: &ChangeSet) -> Result<(), ChangesError> {
    make_dirs(root, set)?;
    let slots = slots(record, root, set)?;
    let kept = |hash: &Hash| {
        let missing = || ChangesError::Meddled {
            path: set
                .changes
                .first()
                .map(|it| it.path.clone())
                .unwrap_or_default(),
        };
        record.content(hash)?.ok_or_else(missing)
    };
    for (at, slot) in slots.iter().enumerate() {
        let names = slot.change.names;
        let is_first = |it: &&UndoSlot<'_>| {
            names.is_some() && it.change.names == names && it.change.to == slot.change.to
        };
        let first = slots[..at].iter().find(is_first);
        slot.stage(&kept, first)?;
    }
    slots.iter().try_for_each(UndoSlot::swap)?;
    slots.iter().try_for_each(UndoSlot::sync)?;
    moment();
    let set = set.set;
    record.append(&[(&Frame::Swapped { set }, &[])], true)
}

/// Everything is in its place: removes what waits beside it, and gives directories their times back.
fn finish(record: &mut Record, root: &Root, set: &ChangeSet) -> Result<Leftovers, ChangesError> {
    let mut leftovers = Leftovers::default();
    for slot in slots(record, root, set)? {
        leftovers.written.extend(slot.clean()?);
    }
    for path in &set.leftovers {
        if let Ok((above, name)) = parent(root, path) {
            // A call that is still under way keeps what it has.
            let _ = remove_unfinished(&above, name);
        }
    }
    leftovers.directories = remove_dirs(root, set)?;
    give_modes(root, set)?;
    give_times(root, &set.times);
    moment();
    let dirs = dirs_now(root, &set.dirs);
    let outcome = Outcome::Made { rights: None, dirs };
    let set = set.set;
    record.append(&[(&Frame::Changed { set, outcome }, &[])], true)?;
    Ok(leftovers)
}

/// Puts everything back, and says so.
fn take_back(record: &mut Record, root: &Root, set: &ChangeSet) -> Result<(), ChangesError> {
    let name = name_of(record, set);
    for change in set.changes.iter().rev() {
        // A directory that is not there holds nothing of ours.
        if let Ok(slot) = UndoSlot::open(root, &name, change) {
            slot.take_back()?;
        }
    }
    for (change, _) in wanted_dirs(set).into_iter().rev() {
        if change.from != Node::Absent {
            continue;
        }
        if let Ok((above, name)) = parent(root, &change.path) {
            // One that somebody uses by now stays.
            let _ = unlinkat(&above, name, AtFlags::REMOVEDIR);
        }
    }
    give_times(root, &set.dirs);
    let set = set.set;
    let outcome = Outcome::NotMade;
    record.append(&[(&Frame::Changed { set, outcome }, &[])], true)
}

/// Brings an undo to an end that a process did not live to see, under a lock that the caller has.
fn settle(record: &mut Record) -> Result<Settled, ChangesError> {
    let Some(found) = unfinished(record) else {
        return Ok(Settled::Nothing);
    };
    let (set, is_swapped) = (found.set.clone(), found.is_swapped);
    let Some((_, dir)) = record.began() else {
        return Ok(Settled::Nothing);
    };
    let root = open_root(dir)?;
    if is_swapped {
        finish(record, &root, &set)?;
        return Ok(Settled::Completed);
    }
    match put(record, &root, &set) {
        Ok(()) => {
            finish(record, &root, &set)?;
            Ok(Settled::Completed)
        }
        Err(_) => {
            take_back(record, &root, &set)?;
            Ok(Settled::TakenBack)
        }
    }
}

#[cfg(test)]
mod tests;
