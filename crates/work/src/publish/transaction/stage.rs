//! New contents, written and synced on the tree's own file system, so that a rename puts them in place, and what they
//! replaced, until all is done. They wait in one directory: inside `.git` where the tree has one, where nothing looks
//! for files, else in the tree's root.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_work_rules::{Change, Node, TreePath};
use rustix::fs::{
    AtFlags, Mode, OFlags, fstat, fsync, mkdirat, openat, readlinkat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::error::PublishError;
use super::faults::DiskOperation;
use super::root::{names, present};
use super::slot::{Slot, is_of_slot};
use super::write::TreeWriter;

/// No path of a change may have a name that begins like this.
pub(super) const OWN_NAME: &str = ".bonded-publish";
const GIT: &str = ".git";
const STAGE_IN_GIT: &str = "bonded-publish";
/// A link to the journal: it says whose the directory is.
const OWNER: &str = "journal";

/// The numbers in `staged` are those of changes that are written whole.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    writer: TreeWriter<'a>,
    journal: &'a Path,
    made: Option<Made>,
    staged: BTreeSet<usize>,
}

/// Held open with the directory above it, so that nobody can exchange it for another.
#[derive(Debug)]
struct Made {
    above: OwnedFd,
    name: &'static str,
    directory: Arc<OwnedFd>,
}

impl<'a> Stage<'a> {
    /// Begins with nothing staged: what an earlier process left is removed, unless it is `kept` to be looked at. The
    /// directory stays while there is a journal, to keep other stores from a tree that is half published.
    pub(super) fn opened(
        writer: TreeWriter<'a>,
        journal: &'a Path,
        kept: bool,
    ) -> Result<Self, PublishError> {
        let mut stage = Self {
            writer,
            journal,
            made: None,
            staged: BTreeSet::new(),
        };
        for (above, name) in stage.places().map_err(|source| stage.failed(source))? {
            let directory = openat(&above, name, directory_flags(), Mode::empty());
            match directory.map(Arc::new) {
                Ok(directory) => stage.take_up(
                    Made {
                        above,
                        name,
                        directory,
                    },
                    kept,
                )?,
                Err(Errno::NOENT) => {}
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(stage.taken(name)),
                Err(errno) => return Err(stage.failed(errno.into())),
            }
        }
        Ok(stage)
    }

    /// Where the directory may be, the best place first.
    fn places(&self) -> io::Result<Vec<(OwnedFd, &'static str)>> {
        let root = self.writer.root.directory(None)?;
        let git = TreePath::new(GIT).expect("it is a path of one name");
        let git = present(self.writer.root.directory(Some(&git)))?;
        let on_same_device =
            |git: &OwnedFd| Ok::<_, Errno>(fstat(git)?.st_dev == fstat(&root)?.st_dev);
        let mut places = vec![];
        if let Some(git) = git
            && on_same_device(&git)?
        {
            places.push((git, STAGE_IN_GIT));
        }
        places.push((root, OWN_NAME));
        Ok(places)
    }

    /// What is left is kept only where there is a journal that says what it is.
    fn take_up(&mut self, made: Made, kept: bool) -> Result<(), PublishError> {
        self.refuse_anothers(&made)?;
        let is_under_way = self.journal.exists();
        let cleared = match (is_under_way, kept) {
            (true, true) => Ok(()),
            (true, false) => self.remove_staged(&made),
            (false, _) => self.remove(&made),
        };
        cleared.map_err(|source| self.failed(source))?;
        self.made = is_under_way.then_some(made);
        Ok(())
    }

    /// A directory without an owner or with a foreign name in it is the user's and is not touched. One whose
    /// journal belongs to another store and is still there means that the tree is half published.
    fn refuse_anothers(&self, made: &Made) -> Result<(), PublishError> {
        let owner = present(readlinkat(&made.directory, OWNER, vec![]));
        let owner = owner.map_err(|errno| self.failed(errno.into()))?;
        let names = names(&made.directory).map_err(|source| self.failed(source))?;
        let is_own = |name: &Vec<u8>| name == OWNER.as_bytes() || is_of_slot(name);
        if (owner.is_none() && !names.is_empty()) || !names.iter().all(is_own) {
            return Err(self.taken(made.name));
        }
        let owner = owner.map(|owner| PathBuf::from(os_string(owner.into_bytes())));
        match owner {
            Some(journal) if journal != self.journal && journal.exists() => {
                let tree = self.writer.root.path().to_owned();
                Err(PublishError::OtherStore { tree, journal })
            }
            _ => Ok(()),
        }
    }

    fn remove_staged(&self, made: &Made) -> io::Result<()> {
        for name in names(&made.directory)?
            .into_iter()
            .filter(|name| is_of_slot(name))
        {
            self.writer.faults.before(DiskOperation::RemoveFile)?;
            unlinkat(&made.directory, name, AtFlags::empty())?;
        }
        Ok(())
    }

    /// Whose it is stands there until it is empty.
    fn remove(&self, made: &Made) -> io::Result<()> {
        self.remove_staged(made)?;
        self.writer.faults.before(DiskOperation::RemoveFile)?;
        present(unlinkat(&made.directory, OWNER, AtFlags::empty()))?;
        self.writer.faults.before(DiskOperation::RemoveDirectory)?;
        unlinkat(&made.above, made.name, AtFlags::REMOVEDIR)?;
        Ok(fsync(&made.above)?)
    }

    /// Takes away what is staged, and the directory.
    pub(super) fn drop_all(&mut self) -> io::Result<()> {
        self.staged.clear();
        self.made.take().map_or(Ok(()), |made| self.remove(&made))
    }

    /// Stages what a change puts at its path; a directory needs nothing.
    pub(super) fn put(&mut self, number: usize, change: &Change) -> io::Result<()> {
        let node = match &change.after {
            Some(node @ (Node::File { .. } | Node::Link { .. })) => node,
            Some(Node::Directory { .. } | Node::Special { .. }) | None => return Ok(()),
        };
        if self.staged.contains(&number) {
            return Ok(());
        }
        let slot = self.slot(number)?;
        self.writer
            .write_whole(&slot, &change.path, node, slot.ours())?;
        self.staged.insert(number);
        Ok(())
    }

    /// Says that what a change ends with is there already.
    pub(super) fn has_staged(&mut self, number: usize) {
        self.staged.insert(number);
    }

    /// Makes the directory durable with what is in it. It is there even where nothing is staged.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let directory = self.directory()?;
        self.writer.faults.before(DiskOperation::Sync)?;
        fsync(&directory)?;
        self.made
            .as_ref()
            .map_or(Ok(()), |made| Ok(fsync(&made.above)?))
    }

    pub(super) fn writer(&self) -> TreeWriter<'a> {
        self.writer
    }

    /// Where what was put waits, and what it replaces.
    pub(super) fn slot(&mut self, number: usize) -> io::Result<Slot> {
        Ok(Slot::new(self.directory()?, number.to_string()))
    }

    /// The same, if there is a directory.
    pub(super) fn slot_there(&self, number: usize) -> Option<Slot> {
        let made = self.made.as_ref()?;
        let directory = Arc::clone(&made.directory);
        Some(Slot::new(directory, number.to_string()))
    }

    /// The directory, made when it is first needed.
    fn directory(&mut self) -> io::Result<Arc<OwnedFd>> {
        let made = match self.made.take() {
            Some(made) => made,
            None => self.make()?,
        };
        Ok(Arc::clone(&self.made.insert(made).directory))
    }

    /// The first place that lets itself be written to.
    fn make(&self) -> io::Result<Made> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for (above, name) in self.places()? {
            self.writer.faults.before(DiskOperation::MakeDirectory)?;
            match mkdirat(&above, name, Mode::RWXU) {
                Ok(()) => {}
                Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
                    refused = errno.into();
                    continue;
                }
                Err(errno) => return Err(errno.into()),
            }
            return self.claim(above, name);
        }
        Err(refused)
    }

    /// Says in a new directory whose it is.
    fn claim(&self, above: OwnedFd, name: &'static str) -> io::Result<Made> {
        let claimed = openat(&above, name, directory_flags(), Mode::empty())
            .map_err(io::Error::from)
            .and_then(|directory| {
                self.writer.faults.before(DiskOperation::MakeLink)?;
                symlinkat(self.journal, &directory, OWNER)?;
                Ok(Arc::new(directory))
            });
        match claimed {
            Ok(directory) => Ok(Made {
                above,
                name,
                directory,
            }),
            Err(error) => {
                self.writer.faults.before(DiskOperation::RemoveDirectory)?;
                unlinkat(&above, name, AtFlags::REMOVEDIR)?;
                Err(error)
            }
        }
    }

    fn taken(&self, name: &str) -> PublishError {
        let above = match name {
            STAGE_IN_GIT => self.writer.root.path().join(GIT),
            _ => self.writer.root.path().to_owned(),
        };
        PublishError::StageTaken {
            path: above.join(name),
        }
    }

    fn failed(&self, source: io::Error) -> PublishError {
        PublishError::Stage {
            tree: self.writer.root.path().to_owned(),
            source,
        }
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn os_string(bytes: Vec<u8>) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}
