//! The one opener of paths that a stranger named: a model, a cloned repository, a user of a server.
//!
//! A [`Root`] is a directory that is held open. What lies beneath it is found from that descriptor in the moment in
//! which it is opened, and only what was opened is looked at: nothing that is renamed or exchanged meanwhile leads out,
//! and nothing is resolved first and opened later. A pipe or a device makes nobody wait, and no more is read than was
//! allowed.
//!
//! ```no_run
//! # use std::path::Path;
//! use bonded_tools::beneath::{Links, Root};
//! let root = Root::open(Path::new("/home/ada/project"))?;
//! let text = root.read(Path::new("AGENTS.md"), Links::Inside, 256 * 1024)?;
//! # Ok::<(), bonded_tools::beneath::OpenError>(())
//! ```

mod error;
mod walk;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2, readlinkat,
};
use rustix::io::Errno;

pub use error::OpenError;
use walk::{End, walk};

/// What is done about symbolic links on the way to a file, the file itself included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// A path that leads through a link is refused.
    Refused,
    /// A link is followed as long as it stays beneath the root. One with an absolute target never does.
    Inside,
}

/// Never the terminal of the process, and never a wait for the other end of a pipe.
const QUIETLY: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK);
const READ: OFlags = OFlags::RDONLY.union(QUIETLY);
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

/// A directory that is only passed through.
const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The kernel asks to try again where somebody renames directories on the way; after that it is walked name by name.
const TRIES: usize = 8;

/// A directory that is held open, with the path that it was opened by.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    path: PathBuf,
}

/// An entry of a directory. A link is not followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// One name, without the path of its directory.
    pub name: OsString,
    /// As it was while the directory was listed.
    pub kind: EntryKind,
}

/// What an entry is, without a look at where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory, which may be listed in turn.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a socket or a device: nothing that is read.
    Other,
}

impl Root {
    /// Opens a directory that the person named: links on the way to it are followed.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let dir =
            open(path, DIRECTORY, Mode::empty()).map_err(|errno| OpenError::of(errno, path))?;
        Ok(Self {
            dir,
            path: path.into(),
        })
    }

    /// The path by which it was opened; something else may be there by now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory beneath this one.
    pub fn directory(&self, path: &Path, links: Links) -> Result<Self, OpenError> {
        let (dir, real) = self.open_real(path, DIRECTORY, links)?;
        let path = self.path.join(&*real);
        Ok(Self { dir, path })
    }

    /// A regular file beneath this directory, open for reading; anything else is refused.
    pub fn file(&self, path: &Path, links: Links) -> Result<File, OpenError> {
        Ok(self.regular(path, links)?.0)
    }

    /// The whole content of a regular file, refused where it is longer than `bytes_max`.
    pub fn read(&self, path: &Path, links: Links, bytes_max: u64) -> Result<Vec<u8>, OpenError> {
        let (file, stat, _) = self.regular(path, links)?;
        let too_large = || OpenError::TooLarge {
            path: path.into(),
            bytes_max,
        };
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if size > bytes_max {
            return Err(too_large());
        }
        // A little more than is needed, so that the end is found without growing.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 64);
        // It may have grown since it was looked at, and some files say nothing of their length.
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| OpenError::Io {
                path: path.into(),
                source,
            })?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large());
        }
        Ok(bytes)
    }

    /// The entries of this directory by name, `.` and `..` left out; refused where there are more than `entries_max`.
    pub fn entries(&self, entries_max: usize) -> Result<Vec<Entry>, OpenError> {
        let on_path = |errno| OpenError::of(errno, &self.path);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.dir).map_err(on_path)? {
            let entry = entry.map_err(on_path)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if entries.len() == entries_max {
                return Err(OpenError::TooManyEntries {
                    path: self.path.clone(),
                    entries_max,
                });
            }
            let kind = kind_of(&self.dir, entry.file_name(), entry.file_type());
            // It was removed since it was listed.
            let Some(kind) = kind else { continue };
            let name = os_string(name);
            entries.push(Entry { name, kind });
        }
        entries.sort();
        Ok(entries)
    }

    /// A regular file, what it is, and its real path beneath this directory: without links, `.` and `..`.
    pub(crate) fn regular<'p>(
        &self,
        path: &'p Path,
        links: Links,
    ) -> Result<(File, Stat, Cow<'p, Path>), OpenError> {
        let (file, real) = self.open_real(path, READ, links)?;
        let stat = fstat(&file).map_err(|errno| OpenError::of(errno, path))?;
        error::refuse_special(&stat, path)?;
        Ok((file.into(), stat, real))
    }

    /// Opens what a path names, and says what its real path is.
    pub(crate) fn open_real<'p>(
        &self,
        path: &'p Path,
        flags: OFlags,
        links: Links,
    ) -> Result<(OwnedFd, Cow<'p, Path>), OpenError> {
        let path = self.inside(path)?;
        match self.open_at_once(path, flags) {
            Some(Ok(opened)) => Ok((opened, plain(path))),
            Some(Err(Errno::LOOP)) if links == Links::Inside => {
                self.open_walking(path, flags, links)
            }
            Some(Err(errno)) => Err(OpenError::of(errno, path)),
            None => self.open_walking(path, flags, links),
        }
    }

    /// Where a relative path ends: the directory that its file is in, or would be in.
    pub(crate) fn end_of(&self, path: &Path, links: Links) -> Result<End, OpenError> {
        match self.end_at_once(path) {
            Some(end) => Ok(end),
            None => walk(self.as_fd(), path, links),
        }
    }

    /// The end of a path without `..` whose directories are all there and that leads through no link: one call for the
    /// directory and one for the file's name.
    fn end_at_once(&self, path: &Path) -> Option<End> {
        let plain = |component| matches!(component, Component::Normal(_));
        let (parent, name) = (path.parent()?, path.file_name()?);
        if !path.components().all(plain) {
            return None;
        }
        let dir = self.open_at_once(parent, PASSAGE)?.ok()?;
        match readlinkat(&dir, name, Vec::new()) {
            Err(Errno::INVAL | Errno::NOENT) => Some(End {
                dir,
                names: parent.iter().map(OsString::from).collect(),
                left: vec![name.to_owned()],
                by_link: false,
            }),
            _ => None,
        }
    }

    /// The path relative to this directory, where it names it absolutely.
    fn inside<'p>(&self, path: &'p Path) -> Result<&'p Path, OpenError> {
        match path.is_absolute() {
            true => path
                .strip_prefix(&self.path)
                .map_err(|_| OpenError::Outside { path: path.into() }),
            false => Ok(path),
        }
    }

    /// One system call that follows no link at all; `None` where the system cannot do that.
    fn open_at_once(&self, path: &Path, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match openat2(&self.dir, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Old kernels, and filters of system calls that do not know it.
                Err(Errno::NOSYS | Errno::PERM | Errno::TOOBIG) => return None,
                opened => return Some(opened),
            }
        }
        None
    }

    fn open_walking<'p>(
        &self,
        path: &Path,
        flags: OFlags,
        links: Links,
    ) -> Result<(OwnedFd, Cow<'p, Path>), OpenError> {
        let end = walk(self.as_fd(), path, links)?;
        let mut real: PathBuf = end.names.iter().collect();
        let on_path = |errno| match errno {
            Errno::NOENT if end.by_link => OpenError::Dangling { path: path.into() },
            errno => OpenError::of(errno, path),
        };
        let opened = match end.left.as_slice() {
            [] => openat(&end.dir, ".", flags, Mode::empty()).map_err(on_path)?,
            [name] => {
                real.push(name);
                let flags = flags | OFlags::NOFOLLOW;
                openat(&end.dir, name, flags, Mode::empty()).map_err(on_path)?
            }
            _ => return Err(OpenError::Missing { path: path.into() }),
        };
        Ok((opened, Cow::Owned(real)))
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// A path that leads through no link, without `.` and `..`.
fn plain(path: &Path) -> Cow<'_, Path> {
    let is_plain = path
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    if is_plain {
        return Cow::Borrowed(path);
    }
    let mut names = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::ParentDir => {
                names.pop();
            }
            _ => {}
        }
    }
    Cow::Owned(names)
}

/// Some file systems do not say what an entry is while listing; then it is asked for.
fn kind_of(dir: &OwnedFd, name: &std::ffi::CStr, listed: FileType) -> Option<EntryKind> {
    let kind = match listed {
        FileType::Unknown => {
            let stat = rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
            FileType::from_raw_mode(stat.st_mode)
        }
        listed => listed,
    };
    Some(match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    })
}

fn os_string(name: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(name.to_vec())
}

#[cfg(test)]
mod tests;
