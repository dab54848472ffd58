//! What published paths become in an index.
//!
//! Two indexes get lines: the one that the commit is made of, and the user's. They differ where the user has
//! staged changes of his own to a published file: the commit gets only what the item changed, and his index
//! gets both.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bonded_work_rules::{Change, TreePath};

use super::super::commit_error::CommitError;
use super::super::git::{Git, argument, one_line};
use super::filters::OwnFilters;
use super::versions::{Version, Versions};

const SUBMODULE: &str = "160000";

/// What is left out is still published, and a person is told of it.
pub(super) struct Entries {
    commit: IndexLines,
    index: IndexLines,
    pub(super) left_out: Vec<TreePath>,
    pub(super) overlapping: Vec<TreePath>,
    /// The objects that hold what the user has staged and what the item changed.
    pub(super) merged: Vec<String>,
}

/// As `git update-index --index-info` reads them: what goes comes first, to make room for what lies there next.
#[derive(Default)]
struct IndexLines {
    gone: Vec<u8>,
    there: Vec<u8>,
}

/// What an index holds before.
struct Tracked {
    versions: BTreeMap<TreePath, Version>,
    submodules: BTreeSet<TreePath>,
}

impl Entries {
    /// `own` has an index of what HEAD holds, `user` that of the user. Objects are written; they are the commit's.
    pub(super) fn of(
        own: Git<'_>,
        user: Git<'_>,
        filters: &OwnFilters,
        changes: &[Change],
        versions: &Versions<'_>,
    ) -> Result<Self, CommitError> {
        let prefix = own
            .command(["rev-parse", "--show-prefix"])
            .answer(&mut io::empty())?;
        let prefix = prefix.strip_suffix(b"\n").unwrap_or(&prefix);
        let none = "0".repeat(
            one_line(
                &own.command(["hash-object", "--stdin"])
                    .answer(&mut io::empty())?,
            )
            .len(),
        );
        let (head, staged) = (Tracked::read(own)?, Tracked::read(user)?);
        let (kept, left_out) = head.split(own, changes);
        let mut unwanted = ignored(own, &kept)?;
        unwanted.extend(filters.needed_for(own, &kept)?);
        let mut entries = Self {
            commit: IndexLines::default(),
            index: IndexLines::default(),
            left_out,
            overlapping: vec![],
            merged: vec![],
        };
        for change in kept {
            let path = &change.path;
            if unwanted.contains(path) {
                entries.left_out.push(path.clone());
                continue;
            }
            let (head, staged) = (head.versions.get(path), staged.versions.get(path));
            let Some(becomes) = versions.become_of(change, head, staged)? else {
                entries.overlapping.push(path.clone());
                continue;
            };
            let place = (prefix, path.as_bytes());
            entries.commit.add(becomes.commit.as_ref(), &none, place);
            entries.index.add(becomes.index.as_ref(), &none, place);
            if becomes.index != becomes.commit {
                entries.merged.extend(becomes.index.map(|it| it.object));
            }
        }
        Ok(entries)
    }

    pub(super) fn add_to_commit(&self, own: Git<'_>) -> Result<(), CommitError> {
        self.commit.add_to(own)
    }

    pub(super) fn add_to_index(&self, user: Git<'_>) -> Result<(), CommitError> {
        self.index.add_to(user)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commit.gone.is_empty() && self.commit.there.is_empty()
    }
}

impl IndexLines {
    /// `none` is the id of no object, as long as ids of this repository are.
    fn add(&mut self, version: Option<&Version>, none: &str, (prefix, path): (&[u8], &[u8])) {
        let (lines, head) = match version {
            None => (&mut self.gone, format!("0 {none}\t")),
            Some(Version { mode, object }) => (&mut self.there, format!("{mode} {object}\t")),
        };
        for part in [head.as_bytes(), prefix, path, b"\0"] {
            lines.extend_from_slice(part);
        }
    }

    fn add_to(&self, git: Git<'_>) -> Result<(), CommitError> {
        let lines = [self.gone.as_slice(), &self.there].concat();
        let command = git.command(["update-index", "-z", "--index-info"]);
        command.answer(&mut lines.as_slice()).map(drop)
    }
}

impl Tracked {
    fn read(git: Git<'_>) -> Result<Self, CommitError> {
        let answer = git
            .command(["ls-files", "--stage", "-z"])
            .answer(&mut io::empty())?;
        let mut tracked = Self {
            versions: BTreeMap::new(),
            submodules: BTreeSet::new(),
        };
        for entry in answer.split(|&byte| byte == 0) {
            let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else {
                continue;
            };
            let (Ok(path), Some(version)) = (
                TreePath::new(&entry[tab + 1..]),
                Version::read(&entry[..tab]),
            ) else {
                continue;
            };
            if version.mode == SUBMODULE {
                tracked.submodules.insert(path);
            } else {
                tracked.versions.insert(path, version);
            }
        }
        Ok(tracked)
    }

    /// Without directories, which git does not keep; what lies in a repository of its own is left out.
    fn split<'c>(&self, git: Git<'_>, changes: &'c [Change]) -> (Vec<&'c Change>, Vec<TreePath>) {
        let files = changes.iter().filter(|change| !change.is_of_directory());
        let (others, own): (Vec<_>, Vec<_>) =
            files.partition(|change| self.is_of_another(git, &change.path));
        let others = others.into_iter().map(|change| change.path.clone());
        (own, others.collect())
    }

    /// A directory with a `.git` in it, or one that the index has as a submodule.
    fn is_of_another(&self, git: Git<'_>, path: &TreePath) -> bool {
        let mut above = path.parent();
        while let Some(directory) = above {
            let place = git.tree.join(argument("", directory.as_bytes()));
            let has_repository = place.join(".git").symlink_metadata().is_ok();
            if has_repository || self.submodules.contains(&directory) {
                return true;
            }
            above = directory.parent();
        }
        self.submodules.contains(path)
    }
}

/// Those of the paths that git ignores. What is tracked is not ignored.
fn ignored(git: Git<'_>, changes: &[&Change]) -> Result<BTreeSet<TreePath>, CommitError> {
    let mut paths = vec![];
    for change in changes.iter().filter(|change| !change.deleted()) {
        paths.extend_from_slice(change.path.as_bytes());
        paths.push(0);
    }
    let command = git.command(["check-ignore", "-z", "--stdin"]);
    let answer = command.maybe(&mut paths.as_slice())?.unwrap_or_default();
    let paths = answer.split(|&byte| byte == 0);
    Ok(paths.filter_map(|path| TreePath::new(path).ok()).collect())
}
