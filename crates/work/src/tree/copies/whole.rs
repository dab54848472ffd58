//! A copy of every file, cloned where the file system can do that.
//!
//! It is for machines that allow no overlay. The contents come from what is kept and not from the tree, since
//! somebody may have changed that by now; a clone is taken from the tree only while the file there is the one
//! that was frozen.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use bonded_work_rules::Node;
use rustix::fs::{Mode, OFlags, ResolveFlags, ioctl_ficlone, open, openat2};

use crate::tree::checkpoints::{Checkpoints, Frozen};
use crate::tree::error::TreeError;
use crate::tree::restore::{Source, restore};
use crate::tree::stamp::see_open;

/// Makes a copy of a frozen tree, and of what git keeps in it.
pub(super) fn copy(
    checkpoints: &Checkpoints,
    frozen: &Frozen,
    dir: &Path,
    reflink: bool,
) -> Result<(), TreeError> {
    match reflink {
        true => restore(&frozen.tree, dir, &Clones::new(checkpoints, frozen, dir)?)?,
        false => restore(&frozen.tree, dir, checkpoints)?,
    }
    for path in &frozen.git {
        copy_all(&frozen.root.join(path), &dir.join(path))?;
    }
    Ok(())
}

/// Contents by cloning the files that hold them.
struct Clones<'a> {
    checkpoints: &'a Checkpoints,
    frozen: &'a Frozen,
    root: std::os::fd::OwnedFd,
    to: &'a Path,
    /// Where it did not work once, it is not tried again.
    works: Cell<bool>,
}

impl<'a> Clones<'a> {
    fn new(
        checkpoints: &'a Checkpoints,
        frozen: &'a Frozen,
        to: &'a Path,
    ) -> Result<Self, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(&frozen.root, flags, Mode::empty());
        Ok(Self {
            checkpoints,
            frozen,
            root: root.map_err(TreeError::unreadable(&frozen.root))?,
            to,
            works: Cell::new(true),
        })
    }

    /// Clones the file, if it is as it was frozen before and after that.
    fn cloned(&self, path: &Path, node: &Node, file: &File) -> Option<()> {
        let Node::File { content, .. } = node else {
            return None;
        };
        let inside = path.strip_prefix(self.to).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let original = openat2(&self.root, inside, flags, Mode::empty(), resolve).ok()?;
        let is_same = || {
            let stamp = see_open(&original).ok()?.stamp;
            (self.frozen.stats.content(&stamp, &mut 0) == Some(*content)).then_some(())
        };
        is_same()?;
        match ioctl_ficlone(file, &original) {
            Ok(()) => is_same(),
            Err(_) => {
                self.works.set(false);
                None
            }
        }
    }
}

impl Source for Clones<'_> {
    fn fill(&self, path: &Path, node: &Node, file: &File) -> Result<(), TreeError> {
        let is_cloned = self.works.get() && self.cloned(path, node, file).is_some();
        if is_cloned {
            return Ok(());
        }
        file.set_len(0).map_err(TreeError::unmade(path))?;
        self.checkpoints.fill(path, node, file)
    }
}

/// Copies what is not frozen, as it is now.
fn copy_all(from: &Path, to: &Path) -> Result<(), TreeError> {
    let mut left = vec![(from.to_owned(), to.to_owned())];
    let mut modes = vec![];
    while let Some((from, to)) = left.pop() {
        let metadata = from
            .symlink_metadata()
            .map_err(TreeError::unreadable(&from))?;
        if metadata.is_dir() {
            fs::create_dir(&to).map_err(TreeError::unmade(&to))?;
            left.extend(entries(&from, &to).map_err(TreeError::unreadable(&from))?);
            modes.push((to, metadata.permissions().mode()));
        } else {
            let copied = copy_one(&from, &to, &metadata);
            copied.map_err(TreeError::unmade(&to))?;
        }
    }
    // The innermost first: afterwards one may not be writable.
    for (path, mode) in modes.into_iter().rev() {
        let set = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        set.map_err(TreeError::unmade(path))?;
    }
    Ok(())
}

/// What git keeps is copied as it is found: it has no frozen state.
fn copy_one(from: &Path, to: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    // Git has sockets of its own, which a copy could not answer.
    if kind.is_socket() || kind.is_fifo() {
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}

/// Each with its place in the copy.
fn entries(from: &Path, to: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let entries = fs::read_dir(from)?;
    entries
        .map(|entry| entry.map(|entry| (entry.path(), to.join(entry.file_name()))))
        .collect()
}
