//! Where a change keeps what it puts at its path until that is there, and what was there before until all is done.
//!
//! A slot has four names: what comes, what went, what is half written, and what is between two steps of an
//! exchange. Each state that a crash can leave is told from which of them are there and what they hold.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bonded_work_rules::Node;
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::root::{Modes, is_at, present};
use crate::tree::FileId;

const OUT: &str = ".out";
const PART: &str = ".part";
const SWAP: &str = ".swap";

/// The names of one change in a directory of ours, or beside its path.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) dir: Arc<OwnedFd>,
    name: String,
}

impl Slot {
    pub(super) fn new(dir: Arc<OwnedFd>, name: String) -> Self {
        Self { dir, name }
    }

    /// Of what is to be put at the path.
    pub(super) fn ours(&self) -> &str {
        &self.name
    }

    /// Of what was at the path.
    pub(super) fn out(&self) -> String {
        format!("{}{OUT}", self.name)
    }

    /// Of what is not written whole yet.
    pub(super) fn part(&self) -> String {
        format!("{}{PART}", self.name)
    }

    /// Only used where a file system cannot exchange two names at once.
    fn swap(&self) -> String {
        format!("{}{SWAP}", self.name)
    }

    pub(super) fn all(&self) -> [String; 4] {
        [self.name.clone(), self.out(), self.part(), self.swap()]
    }

    /// A link counts as being there, wherever it leads.
    pub(super) fn has(&self, name: &str) -> Result<bool, Errno> {
        let stat = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(present(stat)?.is_some())
    }

    pub(super) fn is(&self, name: &str, node: &Node) -> io::Result<bool> {
        is_at(&self.dir, name.as_bytes(), Some(node), Modes::Opened)
    }

    /// Which file a name stands for, whatever is in it.
    pub(super) fn file_id(&self, name: &str) -> Result<FileId, Errno> {
        let stat = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileId {
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        renameat(&self.dir, from, &self.dir, to)
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Errno> {
        present(unlinkat(&self.dir, name, AtFlags::empty())).map(drop)
    }

    /// Moves what is at a path here.
    pub(super) fn take(&self, from: &OwnedFd, path: &[u8], to: &str) -> Result<(), Errno> {
        renameat(from, path, &self.dir, to)
    }

    /// Moves what is here to a path where nothing is.
    pub(super) fn give(&self, from: &str, to: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        match renameat_with(&self.dir, from, to, path, RenameFlags::NOREPLACE) {
            // Not every file system can say so; every one refuses a second name that is taken.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(&self.dir, from, to, path, AtFlags::empty())?;
                unlinkat(&self.dir, from, AtFlags::empty())
            }
            given => given,
        }
    }

    /// Puts what is here at a path, and what is there here, so that nothing is lost between the two.
    pub(super) fn exchange(&self, own: &str, with: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        match renameat_with(&self.dir, own, with, path, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            exchanged => return exchanged,
        }
        // In two steps, where the file system has no single one: for a moment nothing is at the path.
        let swap = self.swap();
        self.take(with, path, &swap)?;
        match self.give(own, with, path) {
            Ok(()) => self.rename(&swap, own),
            Err(errno) => {
                // Who made a new one meanwhile has the last word.
                let _ = self.give(&swap, with, path);
                Err(errno)
            }
        }
    }

    /// Brings the names into order after a crash: what is under our own name and is not ours was put aside, and the
    /// crash came before it was said so. `ours` is what the change ends with.
    pub(super) fn tidy(
        &self,
        ours: Option<&Node>,
        holder: Option<&OwnedFd>,
        path: &[u8],
    ) -> io::Result<bool> {
        self.remove(&self.part())?;
        if self.has(&self.swap())? {
            let given = holder.map_or(Err(Errno::NOENT), |it| self.give(&self.swap(), it, path));
            match given {
                Ok(()) => {}
                Err(_) if !self.has(self.ours())? => self.rename(&self.swap(), self.ours())?,
                Err(_) if !self.has(&self.out())? => self.rename(&self.swap(), &self.out())?,
                Err(_) => {}
            }
        }
        if !self.has(self.ours())? {
            return Ok(false);
        }
        if ours.map_or(Ok(false), |ours| self.is(self.ours(), ours))? {
            return Ok(true);
        }
        if !self.has(&self.out())? {
            self.rename(self.ours(), &self.out())?;
        }
        Ok(false)
    }
}

/// Whether a name in our directory is one that a change uses.
pub(super) fn is_of_slot(name: &[u8]) -> bool {
    let ends = [OUT, PART, SWAP].map(str::as_bytes);
    let number = ends.iter().find_map(|end| name.strip_suffix(*end));
    let number = number.unwrap_or(name);
    !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}
