//! A frozen tree made again from what is kept of it, for copies to stand on: nobody else writes there.
//!
//! It is made once for all copies of a state. What git keeps is no part of a tree: a copy sees that of the tree itself.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;

use super::place;
use crate::tree::checkpoints::{Checkpoints, Frozen};
use crate::tree::error::TreeError;
use crate::tree::removal::remove_tree;

const PREFIX: &str = "base-";
const TREE: &str = "tree";
const GIT: &str = "git";

/// Its name follows from the state and from the start of the machine.
#[derive(Clone, Debug)]
pub(super) struct Base {
    dir: PathBuf,
}

impl Base {
    /// The one in a directory, made where it is missing. Those of other states go.
    ///
    /// It is made under another name and renamed, so that one that was interrupted is never taken for a whole
    /// one.
    pub(super) fn of(
        all: &Path,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
    ) -> Result<Self, TreeError> {
        // What was made before the machine was started anew may not all be there.
        let name = [frozen.tree.hash().to_string().into_bytes(), place::boot()].concat();
        let dir = all.join(format!("{PREFIX}{}", Hash::of(&name)));
        if !dir.exists() {
            remove_others(all).map_err(TreeError::unmade(all))?;
            let new = all.join(format!("{PREFIX}new"));
            checkpoints.restore(&frozen.tree, &new.join(TREE))?;
            for path in &frozen.git {
                let made = make_git(&frozen.root.join(path), &new.join(GIT).join(path));
                made.map_err(TreeError::unmade(new.join(path)))?;
            }
            fs::create_dir_all(new.join(GIT)).map_err(TreeError::unmade(&new))?;
            fs::rename(&new, &dir).map_err(TreeError::unmade(&dir))?;
        }
        Ok(Self { dir })
    }

    /// What lies below a copy, the upper one first.
    pub(super) fn layers(&self) -> [PathBuf; 2] {
        [self.dir.join(TREE), self.dir.join(GIT)]
    }

    /// Of what git keeps in a tree, that which is a directory: it is seen in a copy by a mount of its own.
    pub(super) fn git_directories(&self, frozen: &Frozen) -> Vec<PathBuf> {
        let is_directory = |path: &&PathBuf| {
            let is = |path: PathBuf| path.symlink_metadata().is_ok_and(|it| it.is_dir());
            is(self.dir.join(GIT).join(path)) && is(frozen.root.join(path))
        };
        frozen.git.iter().filter(is_directory).cloned().collect()
    }
}

/// A place for what git keeps, or, where that is a file that leads elsewhere, the same file.
fn make_git(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let kind = from.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    match kind.is_dir() {
        true => fs::create_dir(to),
        false => fs::copy(from, to).map(drop),
    }
}

/// One state at a time is needed: levels follow one another.
fn remove_others(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
        {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}
