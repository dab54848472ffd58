//! From a tree and its kept contents to files.
//!
//! Directories are made open to their owner alone and get their modes when they are full. Nothing is synced: a
//! restored tree is a copy to work in, and what it was made of is kept.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_work_rules::{Child, Directory, Node, Special, Tree};
use rustix::fs::{FileType, Mode, OFlags, fchmod, mkdirat, mknodat, open, openat, symlinkat};

use super::checkpoints::Checkpoints;
use super::error::TreeError;

/// Where the content of a file comes from.
pub(super) trait Source {
    fn fill(&self, path: &Path, node: &Node, file: &File) -> Result<(), TreeError>;
}

impl Source for Checkpoints {
    fn fill(&self, path: &Path, node: &Node, mut file: &File) -> Result<(), TreeError> {
        let Node::File { content, .. } = node else {
            return Ok(());
        };
        let mut content = self.read(*content)?;
        io::copy(&mut content, &mut file).map_err(TreeError::unmade(path))?;
        Ok(())
    }
}

impl Checkpoints {
    /// Makes the tree in a directory that is empty or is not there. If that fails, what was made is left there.
    pub fn restore(&self, tree: &Tree, dir: &Path) -> Result<(), TreeError> {
        restore(tree, dir, self)
    }
}

pub(super) fn restore(tree: &Tree, dir: &Path, source: &dyn Source) -> Result<(), TreeError> {
    fs::create_dir_all(dir).map_err(TreeError::unmade(dir))?;
    let mut there = fs::read_dir(dir).map_err(TreeError::unreadable(dir))?;
    if there.next().is_some() {
        let path = dir.to_owned();
        return Err(TreeError::NotEmpty { path });
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(dir, flags, Mode::empty()).map_err(TreeError::unmade(dir))?;
    fill(root, tree.root(), dir.to_owned(), source)
}

/// A directory that is being filled.
struct FillingDirectory {
    fd: OwnedFd,
    directory: Arc<Directory>,
    next: usize,
    path: PathBuf,
}

/// A directory gets its mode when it is full: with it, it may not be writable any more.
fn fill(
    root: OwnedFd,
    directory: &Arc<Directory>,
    path: PathBuf,
    source: &dyn Source,
) -> Result<(), TreeError> {
    let mut open = vec![FillingDirectory {
        fd: root,
        directory: directory.clone(),
        next: 0,
        path,
    }];
    while let Some(top) = open.last_mut() {
        let Some((name, child)) = top.directory.children().get(top.next) else {
            let done = open.pop().expect("it is the last one");
            if !open.is_empty() {
                let mode = Mode::from_raw_mode(done.directory.mode());
                fchmod(&done.fd, mode).map_err(TreeError::unmade(done.path))?;
            }
            continue;
        };
        top.next += 1;
        let path = top.path.join(OsStr::from_bytes(name));
        match child {
            Child::Leaf(node) => make(&top.fd, name, node, &path, source)?,
            Child::Directory(below) => {
                let fd = make_directory(&top.fd, name).map_err(TreeError::unmade(&path))?;
                let below = FillingDirectory {
                    fd,
                    directory: below.clone(),
                    next: 0,
                    path,
                };
                open.push(below);
            }
        }
    }
    Ok(())
}

fn make_directory(above: impl AsFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    mkdirat(&above, name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty())
}

/// A file is made anew under its name and filled before it gets its mode, which may forbid writing.
fn make(
    dir: impl AsFd,
    name: &[u8],
    node: &Node,
    path: &Path,
    source: &dyn Source,
) -> Result<(), TreeError> {
    match node {
        Node::File { mode, .. } => {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = openat(dir, name, flags, Mode::RUSR | Mode::WUSR);
            let file = File::from(file.map_err(TreeError::unmade(path))?);
            source.fill(path, node, &file)?;
            fchmod(&file, Mode::from_raw_mode(*mode)).map_err(TreeError::unmade(path))
        }
        Node::Link { target } => symlinkat(&target[..], dir, name).map_err(TreeError::unmade(path)),
        Node::Directory { .. } => Ok(()),
        Node::Special { special } => {
            let kind = match special {
                Special::Fifo => FileType::Fifo,
                Special::Socket => FileType::Socket,
                Special::Device => {
                    let path = path.to_owned();
                    return Err(TreeError::Device { path });
                }
            };
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(dir, name, kind, mode, 0).map_err(TreeError::unmade(path))
        }
    }
}
