//! What a published file becomes in a commit: HEAD's version of it with what the item changed, and nothing that the user
//! changed of it and has not committed. In the user's index it becomes what he has staged of it, with the same.

use std::fs;
use std::io;
use std::path::Path;

use bonded_work_rules::{Change, MERGED_BYTES_MAX, Node, TreePath, merged_lines};

use super::super::commit_error::CommitError;
use super::super::git::{Git, argument, one_line};
use super::taken::Taken;
use crate::tree::Contents;

const LINK: &str = "120000";
const PROGRAM: &str = "100755";
const FILE: &str = "100644";

/// What a commit or an index has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) mode: String,
    pub(super) object: String,
}

/// What is to be at a path; nothing where it is to be gone.
pub(super) struct Becomes {
    pub(super) commit: Option<Version>,
    pub(super) index: Option<Version>,
}

/// Asks for versions and makes them.
pub(super) struct Versions<'a> {
    git: Git<'a>,
    contents: &'a dyn Contents,
    /// For objects that are only looked at.
    scratch: &'a Path,
    taken: &'a Taken,
    keeps_modes: bool,
}

impl Version {
    /// From the words of `git ls-files --stage`.
    pub(super) fn read(words: &[u8]) -> Option<Self> {
        let mut words = words.split(|byte| *byte == b' ');
        let mut word = || words.next().map(|it| String::from_utf8_lossy(it).into());
        let (mode, object) = (word()?, word()?);
        Some(Self { mode, object })
    }

    fn is_file(&self) -> bool {
        self.mode != LINK
    }

    /// Whether both are the same but for who may start them.
    fn has_content_of(&self, other: &Self) -> bool {
        self.is_file() == other.is_file() && self.object == other.object
    }
}

impl<'a> Versions<'a> {
    pub(super) fn new(
        git: Git<'a>,
        contents: &'a dyn Contents,
        scratch: &'a Path,
        taken: &'a Taken,
    ) -> Result<Self, CommitError> {
        Ok(Self {
            git,
            contents,
            scratch,
            taken,
            keeps_modes: keeps_modes(git)?,
        })
    }

    /// Nothing where what the item changed and what the user did cannot be told apart: the path is left out.
    pub(super) fn become_of(
        &self,
        change: &Change,
        head: Option<&Version>,
        staged: Option<&Version>,
    ) -> Result<Option<Becomes>, CommitError> {
        let Some(after) = change.after.as_ref().filter(|node| is_leaf(node)) else {
            // Whatever the user has not committed of it went with it; what he has staged stays.
            let is_untouched = staged.is_none() || staged == head;
            let gone = Becomes {
                commit: None,
                index: None,
            };
            return Ok(is_untouched.then_some(gone));
        };
        let before = change.before.as_ref().filter(|node| is_leaf(node));
        let Some(commit) = self.committed(&change.path, head, before, after)? else {
            return Ok(None);
        };
        let index = match (staged, head) {
            (staged, head) if staged == head => Some(commit.clone()),
            (Some(staged), _) if *staged == commit => Some(commit.clone()),
            (Some(staged), _) if self.taken.has(&staged.object) => Some(staged.clone()),
            (Some(staged), Some(head)) => self.merged(head, staged, &commit)?,
            _ => None,
        };
        Ok(index.map(|index| Becomes {
            commit: Some(commit),
            index: Some(index),
        }))
    }

    /// Three-way: what HEAD has, what the tree had before the item, and what it has after. Where HEAD and the
    /// tree were the same, the item's version is taken whole. Where they differ, the user has changes that are
    /// not committed, and lines are merged so that those stay out.
    fn committed(
        &self,
        path: &TreePath,
        head: Option<&Version>,
        before: Option<&Node>,
        after: &Node,
    ) -> Result<Option<Version>, CommitError> {
        let (head, before) = match (head, before) {
            (None, None) => return self.written(path, None, after).map(Some),
            (Some(head), Some(before)) => (head, before),
            // The user has made it or taken it away, and has not committed that.
            _ => return Ok(None),
        };
        let base = self.hashed(path, head, before)?;
        let mode = match self.mode(head, after) {
            mode if mode == base.mode => head.mode.clone(),
            mode if head.mode == base.mode || head.mode == mode => mode,
            _ => return Ok(None),
        };
        if head.has_content_of(&base) {
            let written = self.written(path, Some(head), after)?;
            return Ok(Some(Version { mode, ..written }));
        }
        let is_file = |node| matches!(node, &Node::File { .. });
        if !(head.is_file() && is_file(before) && is_file(after)) {
            return Ok(None);
        }
        let _room = ScratchObjects::make(self.scratch)?;
        let (Some(ours), Some(base), Some(theirs)) = (
            self.blob(self.git, &head.object)?,
            self.cleaned(path, before)?,
            self.cleaned(path, after)?,
        ) else {
            return Ok(None);
        };
        let merged = merged_lines(&base, &ours, &theirs);
        merged.map(|text| self.of_text(mode, &text)).transpose()
    }

    /// What two versions made of a third.
    fn merged(
        &self,
        base: &Version,
        ours: &Version,
        theirs: &Version,
    ) -> Result<Option<Version>, CommitError> {
        let mode = match (&ours.mode, &theirs.mode) {
            (ours, theirs) if *theirs == base.mode => ours,
            (ours, theirs) if *ours == base.mode || ours == theirs => theirs,
            _ => return Ok(None),
        };
        if ![base, ours, theirs].into_iter().all(Version::is_file) {
            return Ok(None);
        }
        let blob = |version: &Version| self.blob(self.git, &version.object);
        let (Some(base), Some(ours), Some(theirs)) = (blob(base)?, blob(ours)?, blob(theirs)?)
        else {
            return Ok(None);
        };
        let merged = merged_lines(&base, &ours, &theirs);
        let made = merged.map(|text| self.of_text(mode.clone(), &text));
        made.transpose()
    }

    /// It is cleaned already, so that no filter runs over it.
    fn of_text(&self, mode: String, text: &[u8]) -> Result<Version, CommitError> {
        let command = self.git.command(["hash-object", "-w", "--stdin"]);
        let object = command.arg("--no-filters").line(&mut &*text)?;
        Ok(Version { mode, object })
    }

    /// The object is written into the repository.
    fn written(
        &self,
        path: &TreePath,
        tracked: Option<&Version>,
        node: &Node,
    ) -> Result<Version, CommitError> {
        let object = self.object(self.git, &["-w"], path, node)?;
        let mode = match tracked {
            Some(tracked) => self.mode(tracked, node),
            None => own_mode(node).to_owned(),
        };
        Ok(Version { mode, object })
    }

    /// What a node would be as an object; nothing is written.
    fn hashed(
        &self,
        path: &TreePath,
        tracked: &Version,
        node: &Node,
    ) -> Result<Version, CommitError> {
        Ok(Version {
            mode: self.mode(tracked, node),
            object: self.object(self.git, &[], path, node)?,
        })
    }

    /// On some file systems a file's mode says nothing.
    fn mode(&self, tracked: &Version, node: &Node) -> String {
        match node {
            Node::File { .. } if !self.keeps_modes => tracked.mode.clone(),
            node => own_mode(node).to_owned(),
        }
    }

    /// A file's content as git keeps it. Nothing where it is too large to be merged.
    fn cleaned(&self, path: &TreePath, node: &Node) -> Result<Option<Vec<u8>>, CommitError> {
        let aside = self.git.with_objects(self.scratch);
        let object = self.object(aside, &["-w"], path, node)?;
        self.blob(aside, &object)
    }

    /// Nothing where it is too large to be merged, or not to be had, as in a clone that is not whole.
    fn blob(&self, git: Git<'_>, object: &str) -> Result<Option<Vec<u8>>, CommitError> {
        let size = git
            .command(["cat-file", "-s", object])
            .line(&mut io::empty());
        let size = match size {
            Err(CommitError::Refused { .. }) => return Ok(None),
            size => size?.parse().unwrap_or(u64::MAX),
        };
        if size > MERGED_BYTES_MAX {
            return Ok(None);
        }
        let blob = git.command(["cat-file", "blob", object]);
        blob.answer(&mut io::empty()).map(Some)
    }

    /// For a file git's filters hold, as with `git add`; a link is its target.
    fn object(
        &self,
        git: Git<'_>,
        flags: &[&str],
        path: &TreePath,
        node: &Node,
    ) -> Result<String, CommitError> {
        let words = ["hash-object", "--stdin"].into_iter();
        let command = git.command(words.chain(flags.iter().copied()));
        match node {
            Node::Link { target } => command.arg("--no-filters").line(&mut target.as_ref()),
            Node::File { content, .. } => {
                let reader = self.contents.read(content);
                let mut reader = reader.map_err(|source| CommitError::Content {
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
}

fn is_leaf(node: &Node) -> bool {
    matches!(node, Node::File { .. } | Node::Link { .. })
}

fn own_mode(node: &Node) -> &'static str {
    match node {
        Node::Link { .. } => LINK,
        Node::File { mode, .. } if mode & 0o100 != 0 => PROGRAM,
        Node::File { .. } | Node::Directory { .. } | Node::Special { .. } => FILE,
    }
}

/// Whether a file's mode says if it is a program; on some file systems it says nothing.
fn keeps_modes(git: Git<'_>) -> Result<bool, CommitError> {
    let asked = git.command(["config", "--type=bool", "--get", "core.fileMode"]);
    let answer = asked.maybe(&mut io::empty())?;
    Ok(answer.is_none_or(|answer| one_line(&answer) != "false"))
}

/// A directory for objects that nobody keeps.
struct ScratchObjects<'a>(&'a Path);

impl<'a> ScratchObjects<'a> {
    fn make(dir: &'a Path) -> Result<Self, CommitError> {
        fs::create_dir_all(dir).map_err(|source| CommitError::Interrupted { source })?;
        Ok(Self(dir))
    }
}

impl Drop for ScratchObjects<'_> {
    fn drop(&mut self) {
        // A crash may leave it; the next commit removes it first.
        let _ = fs::remove_dir_all(self.0);
    }
}
