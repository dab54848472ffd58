//! What is told of a change before a file tool makes it, so that it can be taken back.
//!
//! The tools keep nothing themselves. Whoever is told has everything that is needed to make the directory what it was:
//! all names of the file, what it held, the directories that are made for it and the times of those whose entries change.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use bonded_kernel::Invocation;
use rustix::fs::{Stat, fstat};

/// Keeps what calls change in a working directory.
pub trait ChangeRecorder: Send + Sync {
    /// Called before anything is changed. What it was told is durable when it returns; where it fails nothing is changed.
    fn begin(&self, change: &ComingChange<'_>) -> io::Result<RecordedChange>;

    /// What came of it. Not called where that is not known.
    fn end(&self, call: &Invocation, change: RecordedChange, end: &ChangeEnd);
}

/// Names a change to the recorder that was told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedChange(pub u64);

/// A change of one file that is about to be made. Paths are relative to the working directory, without links.
#[derive(Debug)]
pub struct ComingChange<'a> {
    /// The call that makes it.
    pub call: &'a Invocation,
    /// Every name of the file; the one that was asked for is the first.
    pub names: Vec<PathBuf>,
    /// The file as it is; `None` where it is made.
    pub before: Option<SeenFile<'a>>,
    /// What it will hold.
    pub after: NewContent<'a>,
    /// The directories that are made for it, the topmost first.
    pub made_dirs: Vec<PathBuf>,
    /// The directories whose entries change, as they are.
    pub dirs: Vec<DirTime>,
    /// What a call that is killed may leave behind.
    pub leftover: Option<PathBuf>,
}

/// A file as it was found.
#[derive(Clone, Copy, Debug)]
pub struct SeenFile<'a> {
    /// What tells who may do what with it.
    pub rights: FileRights,
    /// How long it is.
    pub bytes: u64,
    /// What it holds; `None` where that is more than a tool takes into memory.
    pub content: Option<&'a [u8]>,
}

/// Mode and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRights {
    /// The twelve bits of permission.
    pub mode: u32,
    /// The number of the user.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
}

impl FileRights {
    /// As the system tells them.
    pub fn of(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }
}

/// What a file will hold.
#[derive(Clone, Copy, Debug)]
pub enum NewContent<'a> {
    /// This, whatever it held before.
    Whole(&'a [u8]),
    /// What it held before, and this.
    Added(&'a [u8]),
}

/// A directory and the time of its last change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirTime {
    /// Relative to the working directory; empty for that itself.
    pub path: PathBuf,
    /// Seconds since 1970, and nanoseconds.
    pub changed: (i64, u32),
}

impl DirTime {
    /// As an open directory has it now.
    pub fn of(path: PathBuf, dir: impl AsFd) -> io::Result<Self> {
        let stat = fstat(dir)?;
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        Ok(Self {
            path,
            changed: (stat.st_mtime, nanoseconds),
        })
    }
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeEnd {
    /// It was not made: somebody else had changed the file, and it is as they left it.
    NotMade,
    /// It was made.
    Made {
        /// Those of the file.
        rights: FileRights,
        /// The directories of before, as they are now.
        dirs: Vec<DirTime>,
    },
}
