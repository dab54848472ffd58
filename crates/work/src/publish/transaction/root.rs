//! A tree's directory, held open. Paths are walked from it name by name and no link is followed, so that what
//! somebody swaps in on the way cannot lead out of the tree.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use bonded_work_rules::{Node, TreePath};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat, statat,
};
use rustix::io::Errno;

/// What the owner needs to read a directory and to change what is in it.
pub(super) const OWNER_ALL: u32 = 0o700;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A pipe that somebody put there must not hold us up.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// The path is for messages only: everything is done from the open directory, also if somebody renames it.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    directory: OwnedFd,
}

/// How a directory's mode is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modes {
    Exact,
    /// While changes are made, directories are open to their owner, and new ones to him alone.
    Opened,
}

impl Modes {
    pub(super) fn agree(self, seen: u32, wanted: u32) -> bool {
        let opened = seen == wanted | OWNER_ALL || seen & 0o777 == OWNER_ALL;
        seen == wanted || (self == Self::Opened && opened)
    }
}

impl Root {
    /// A link at the very end of the root's own path is followed: it is the user's choice.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            directory: open(path, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())?,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory at a path; that of the tree itself where there is none.
    pub(super) fn directory(&self, path: Option<&TreePath>) -> Result<OwnedFd, Errno> {
        let mut directory = openat(&self.directory, ".", DIRECTORY, Mode::empty())?;
        for name in path.into_iter().flat_map(TreePath::names) {
            directory = openat(&directory, name, DIRECTORY, Mode::empty())?;
        }
        Ok(directory)
    }

    /// The directory that holds a path.
    pub(super) fn holder(&self, path: &TreePath) -> Result<OwnedFd, Errno> {
        self.directory(path.parent().as_ref())
    }

    pub(super) fn stat(&self, path: &TreePath) -> Result<Option<Stat>, Errno> {
        let stat = self
            .holder(path)
            .and_then(|holder| statat(&holder, name(path), AtFlags::SYMLINK_NOFOLLOW));
        present(stat)
    }

    /// Whether a path is what a node says, or holds nothing where there is none.
    pub(super) fn is(
        &self,
        path: &TreePath,
        node: Option<&Node>,
        modes: Modes,
    ) -> io::Result<bool> {
        match present(self.holder(path))? {
            Some(holder) => is_at(&holder, name(path), node, modes),
            None => Ok(node.is_none()),
        }
    }

    /// The file at a path, if it is one.
    pub(super) fn file(&self, path: &TreePath) -> Result<Option<File>, Errno> {
        match present(self.holder(path))? {
            Some(holder) => file_at(&holder, name(path)),
            None => Ok(None),
        }
    }

    /// What lies in a directory; nothing where there is none.
    pub(super) fn children(&self, path: &TreePath) -> io::Result<Vec<TreePath>> {
        let Some(directory) = present(self.directory(Some(path)))? else {
            return Ok(vec![]);
        };
        let names = names(&directory)?.into_iter();
        let children = names.filter_map(|name| TreePath::child(Some(path), &name).ok());
        Ok(children.collect())
    }
}

/// Whether a name in a directory is what a node says, or holds nothing where there is none.
pub(super) fn is_at(
    dir: &OwnedFd,
    name: &[u8],
    node: Option<&Node>,
    modes: Modes,
) -> io::Result<bool> {
    let stat = present(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW))?;
    let (stat, node) = match (stat, node) {
        (None, None) => return Ok(true),
        (Some(stat), Some(node)) => (stat, node),
        _ => return Ok(false),
    };
    let mode = mode_of(&stat);
    match (node, FileType::from_raw_mode(stat.st_mode)) {
        (Node::Directory { mode: wanted }, FileType::Directory) => Ok(modes.agree(mode, *wanted)),
        (Node::Link { target }, FileType::Symlink) => has_target(dir, name, target),
        (
            Node::File {
                mode: wanted,
                bytes,
                content,
            },
            FileType::RegularFile,
        ) if mode == *wanted && u64::try_from(stat.st_size) == Ok(*bytes) => {
            Ok(content_at(dir, name)? == Some(*content))
        }
        (
            Node::File { .. } | Node::Link { .. } | Node::Directory { .. } | Node::Special { .. },
            _,
        ) => Ok(false),
    }
}

/// As bytes, since a target need not be text.
fn has_target(dir: &OwnedFd, name: &[u8], target: &[u8]) -> io::Result<bool> {
    // Another kind by now: then it is no link with this target.
    let seen = present(readlinkat(dir, name, vec![])).or_else(|errno| match errno {
        Errno::INVAL => Ok(None),
        errno => Err(errno),
    })?;
    Ok(seen.is_some_and(|seen| seen.as_bytes() == target))
}

fn content_at(dir: &OwnedFd, name: &[u8]) -> io::Result<Option<Hash>> {
    let file = file_at(dir, name)?;
    file.map(|file| content_of(&file)).transpose()
}

/// What is in a file, wherever it was read before.
pub(super) fn content_of(mut file: &File) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    io::Seek::rewind(&mut file)?;
    hasher.update_reader(file)?;
    Ok(hasher.into())
}

/// The file of a name in a directory, if it is one.
pub(super) fn file_at(dir: &OwnedFd, name: &[u8]) -> Result<Option<File>, Errno> {
    let Some(file) = present(openat(dir, name, FILE, Mode::empty()))? else {
        return Ok(None);
    };
    let is_file = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
    Ok(is_file.then(|| file.into()))
}

/// The names in a directory, without its own and the one above.
pub(super) fn names(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let is_own = |name: &CStr| matches!(name.to_bytes(), b"." | b"..");
    let mut names = vec![];
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !is_own(entry.file_name()) {
            names.push(entry.file_name().to_bytes().to_vec());
        }
    }
    Ok(names)
}

/// Without the type of the file.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

pub(super) fn name(path: &TreePath) -> &[u8] {
    let name = path.names().next_back();
    name.expect("a path has at least one name")
}

/// Nothing where there is nothing at the path, or no directory on the way to it.
pub(super) fn present<T>(result: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match result {
        Ok(there) => Ok(Some(there)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
