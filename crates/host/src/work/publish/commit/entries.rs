//! What published paths become in an index.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bonded_kernel::work::{Change, Node, TreePath};

use super::super::Contents;
use super::super::git::{Git, argument, one_line};
use super::CommitError;
use super::filters::OwnFilters;

const SUBMODULE: &str = "160000";
const LINK: &str = "120000";
const PROGRAM: &str = "100755";
const FILE: &str = "100644";

pub(super) struct Entries {
    /// As `git update-index --index-info` reads them.
    lines: Vec<u8>,
    pub(super) left_out: Vec<TreePath>,
}

/// What the index holds before.
struct Tracked {
    modes: BTreeMap<TreePath, String>,
    submodules: BTreeSet<TreePath>,
}

impl Entries {
    /// `git` has an index of what HEAD holds. Objects are written; they are the commit's.
    pub(super) fn of(
        git: Git<'_>,
        filters: &OwnFilters,
        changes: &[Change],
        contents: &dyn Contents,
    ) -> Result<Self, CommitError> {
        let prefix = git
            .command(["rev-parse", "--show-prefix"])
            .answer(&mut io::empty())?;
        let prefix = prefix.strip_suffix(b"\n").unwrap_or(&prefix);
        let tracked = Tracked::read(git)?;
        let (kept, mut left_out) = tracked.split(git, changes);
        let mut unwanted = ignored(git, &kept)?;
        unwanted.extend(filters.needed_for(git, &kept)?);
        let keeps_modes = keeps_modes(git)?;
        let none = "0".repeat(
            one_line(
                &git.command(["hash-object", "--stdin"])
                    .answer(&mut io::empty())?,
            )
            .len(),
        );
        let (mut gone, mut there) = (vec![], vec![]);
        for change in kept {
            let path = change.path.as_bytes();
            match &change.after {
                Some(Node::Directory { .. } | Node::Special { .. }) | None => {
                    gone.extend_from_slice(&line("0", &none, prefix, path));
                }
                Some(_) if unwanted.contains(&change.path) => left_out.push(change.path.clone()),
                Some(node) => {
                    let object = object(git, &change.path, node, contents)?;
                    let mode = mode(node, tracked.modes.get(&change.path), keeps_modes);
                    there.extend_from_slice(&line(mode, &object, prefix, path));
                }
            }
        }
        gone.extend(there);
        Ok(Self {
            lines: gone,
            left_out,
        })
    }

    pub(super) fn add_to(&self, git: Git<'_>) -> Result<(), CommitError> {
        let command = git.command(["update-index", "-z", "--index-info"]);
        command.answer(&mut self.lines.as_slice()).map(drop)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl Tracked {
    fn read(git: Git<'_>) -> Result<Self, CommitError> {
        let answer = git
            .command(["ls-files", "--stage", "-z"])
            .answer(&mut io::empty())?;
        let mut tracked = Self {
            modes: BTreeMap::new(),
            submodules: BTreeSet::new(),
        };
        for entry in answer.split(|&byte| byte == 0) {
            let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else {
                continue;
            };
            let (Ok(path), Some(mode)) = (TreePath::new(&entry[tab + 1..]), entry.get(..6)) else {
                continue;
            };
            let mode = String::from_utf8_lossy(mode).into_owned();
            if mode == SUBMODULE {
                tracked.submodules.insert(path);
            } else {
                tracked.modes.insert(path, mode);
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

fn line(mode: &str, object: &str, prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let head = format!("{mode} {object}\t");
    [head.as_bytes(), prefix, path, b"\0"].concat()
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

/// Whether a file's mode says if it is a program; on some file systems it says nothing.
fn keeps_modes(git: Git<'_>) -> Result<bool, CommitError> {
    let asked = git.command(["config", "--type=bool", "--get", "core.fileMode"]);
    let answer = asked.maybe(&mut io::empty())?;
    Ok(answer.is_none_or(|answer| one_line(&answer) != "false"))
}

fn mode<'m>(node: &Node, tracked: Option<&'m String>, keeps_modes: bool) -> &'m str {
    match node {
        Node::Link { .. } => LINK,
        Node::File { .. } if !keeps_modes => tracked.map_or(FILE, String::as_str),
        Node::File { mode, .. } if mode & 0o100 != 0 => PROGRAM,
        _ => FILE,
    }
}

fn object(
    git: Git<'_>,
    path: &TreePath,
    node: &Node,
    contents: &dyn Contents,
) -> Result<String, CommitError> {
    let command = git.command(["hash-object", "-w", "--stdin"]);
    match node {
        Node::Link { target } => command.arg("--no-filters").line(&mut target.as_ref()),
        Node::File { content, .. } => {
            let mut reader = contents
                .read(content)
                .map_err(|source| CommitError::Content {
                    path: path.clone(),
                    source,
                })?;
            // The path tells which filters hold.
            let command = command.arg(argument("--path=", path.as_bytes()));
            command.line(&mut reader)
        }
        Node::Directory { .. } | Node::Special { .. } => Ok(String::new()),
    }
}
