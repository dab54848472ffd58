//! One commit for one publish. It is made with git's plumbing on an index of its own: no hook runs, what the user
//! has staged stays staged, and nothing is stashed. Contents are committed as `git add` would, so the user's
//! filters (line ends, LFS) hold for them; those that only the repository's configuration names do not run, and what
//! would need them is left out. All that goes into the commit is in the journal, so that a commit which is made again
//! after a crash is the same one.

use std::io;
use std::path::Path;

use bonded_work_rules::{Change, TreePath};
use serde::{Deserialize, Serialize};

use super::commit_error::CommitError;
use super::faults::{DiskOperation, Faults};
use super::git::{Git, one_line};
use crate::tree::Contents;

mod entries;
mod filters;
mod taken;
mod versions;

use entries::Entries;
use filters::OwnFilters;
use taken::Taken;
use versions::Versions;

/// By this line a commit is found again, so that it is not made twice.
const TRAILER: &str = "Bonded-Receipt";
/// What is there while a repository is in the middle of something.
const MIDDLES: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

/// A commit that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitPlan {
    message: String,
    trailer: String,
    at_seconds: u64,
    author: Person,
    committer: Person,
    /// What HEAD was, where it was anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The branch that HEAD was on, where it was on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

/// As git says it when the commit is planned: another configuration at recovery would make another commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Person {
    name: String,
    email: String,
}

/// What came of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeCommit {
    /// Nothing where there was nothing to commit.
    pub id: Option<String>,
    /// Published, but not committed: ignored by git, in a repository of its own, or in need of a filter that only
    /// the repository's configuration names. Not said again where the commit turned out to be made already.
    pub left_out: Vec<TreePath>,
    /// The same, because the user has changed it too and not committed that, and the two changes meet.
    pub overlapping: Vec<TreePath>,
}

impl CommitPlan {
    /// Fails where no commit could be made as things are, so it also serves to ask for that beforehand.
    pub fn new(
        tree: &Path,
        description: &str,
        receipt: &str,
        at_seconds: u64,
    ) -> Result<Self, CommitError> {
        let git = Git::of(tree);
        refuse_without_work_tree(git)?;
        refuse_in_the_middle(git)?;
        let trailer = format!("{TRAILER}: {receipt}");
        let mut lines = description.lines().map(str::trim);
        let subject = lines.find(|line| !line.is_empty()).unwrap_or("Work item");
        let subject = subject.replace('\0', " ");
        Ok(Self {
            message: format!("{subject}\n\n{trailer}\n"),
            trailer,
            at_seconds,
            author: person(git, "GIT_AUTHOR_IDENT")?,
            committer: person(git, "GIT_COMMITTER_IDENT")?,
            parent: commit_at(git, "HEAD")?,
            branch: branch(git)?,
        })
    }

    /// Makes the commit on what HEAD is now, unless it is made already. `index` is a path for the index of the
    /// commit's own, which is removed again.
    pub(super) fn commit(
        &self,
        tree: &Path,
        changes: &[Change],
        contents: &dyn Contents,
        index: &Path,
        faults: &dyn Faults,
    ) -> Result<MadeCommit, CommitError> {
        let git = Git::of(tree);
        let taken = Taken::beside(index);
        if let Some(id) = self.made(git)? {
            taken.forget();
            return Ok(MadeCommit {
                id: Some(id),
                left_out: vec![],
                overlapping: vec![],
            });
        }
        gate(faults)?;
        let head = commit_at(git, "HEAD")?;
        let filters = OwnFilters::of(git)?;
        let off = filters.off();
        let git = git.with_settings(&off);
        remove_index(index);
        let own = git.with_index(index);
        let scratch = index.with_extension("objects");
        let written = Versions::new(own, contents, &scratch, &taken).and_then(|versions| {
            let entries = || Entries::of(own, git, &filters, changes, &versions);
            write_tree(own, head.as_deref(), entries)
        });
        remove_index(index);
        let (entries, tree_id) = written?;
        gate(faults)?;
        taken.note(&entries.merged)?;
        entries.add_to_index(git)?;
        // Only spares git some reading later.
        let refresh = git.command(["update-index", "-q", "--refresh"]);
        let _ = refresh.maybe(&mut io::empty());
        let is_new = match &head {
            Some(head) => tree_of(git, head)? != tree_id,
            None => !entries.is_empty(),
        };
        gate(faults)?;
        let id = match is_new {
            true => Some(self.make(git, head.as_deref(), &tree_id, faults)?),
            false => None,
        };
        taken.forget();
        Ok(MadeCommit {
            id,
            left_out: entries.left_out,
            overlapping: entries.overlapping,
        })
    }

    /// The reference moves only if HEAD is still what the commit was made on.
    fn make(
        &self,
        git: Git<'_>,
        head: Option<&str>,
        tree_id: &str,
        faults: &dyn Faults,
    ) -> Result<String, CommitError> {
        let mut command = git.command(["commit-tree", tree_id]);
        if let Some(head) = head {
            command = command.arg("-p").arg(head);
        }
        let date = format!("{} +0000", self.at_seconds);
        let id = command
            .env("GIT_AUTHOR_NAME", &self.author.name)
            .env("GIT_AUTHOR_EMAIL", &self.author.email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", &self.committer.name)
            .env("GIT_COMMITTER_EMAIL", &self.committer.email)
            .env("GIT_COMMITTER_DATE", &date)
            .line(&mut self.message.as_bytes())?;
        gate(faults)?;
        // HEAD stands for its branch. What it was before is named, so that a commit made meanwhile is not lost.
        git.command(["update-ref", "-m", "bonded: work item", "HEAD", &id])
            .arg(head.unwrap_or(""))
            .answer(&mut io::empty())?;
        Ok(id)
    }

    /// The commit, if it is there already: on HEAD or on the branch that HEAD was on.
    ///
    /// Only commits after the parent that is noted are looked at, where it is still there.
    fn made(&self, git: Git<'_>) -> Result<Option<String>, CommitError> {
        for place in [Some("HEAD"), self.branch.as_deref()].into_iter().flatten() {
            let Some(tip) = commit_at(git, place)? else {
                continue;
            };
            let grep = format!("--grep={}", self.trailer);
            let mut command = git.command(["rev-list", "-n1", "--fixed-strings", &grep, &tip]);
            if let Some(parent) = &self.parent {
                // It may be gone, if history was rewritten meanwhile.
                command = command.arg("--ignore-missing").arg(format!("^{parent}"));
            }
            let found = command.line(&mut io::empty())?;
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Makes the tree of the commit in an index of its own.
///
/// The index begins as HEAD and gets only what was published.
fn write_tree(
    own: Git<'_>,
    head: Option<&str>,
    entries: impl FnOnce() -> Result<Entries, CommitError>,
) -> Result<(Entries, String), CommitError> {
    let read_tree = ["read-tree", head.unwrap_or("--empty")];
    own.command(read_tree).answer(&mut io::empty())?;
    let entries = entries()?;
    entries.add_to_commit(own)?;
    let tree_id = own.command(["write-tree"]).line(&mut io::empty())?;
    Ok((entries, tree_id))
}

/// Where tests let the process die between two commands.
fn gate(faults: &dyn Faults) -> Result<(), CommitError> {
    let before = faults.before(DiskOperation::RunGit);
    before.map_err(|source| CommitError::Interrupted { source })
}

/// With the lock that git leaves beside it when it is killed, and what was only looked at.
fn remove_index(index: &Path) {
    let _ = std::fs::remove_dir_all(index.with_extension("objects"));
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    for left in [index.as_os_str(), &lock] {
        let _ = std::fs::remove_file(left);
    }
}

/// What git says otherwise is passed on as its own error.
fn refuse_without_work_tree(git: Git<'_>) -> Result<(), CommitError> {
    let none = || CommitError::NoWorkTree {
        tree: git.tree.to_owned(),
    };
    let asked = git.command(["rev-parse", "--is-inside-work-tree"]);
    match asked.line(&mut io::empty()) {
        Ok(answer) if answer == "true" => Ok(()),
        Ok(_) => Err(none()),
        Err(CommitError::Refused { message, .. }) if message.contains("not a git repository") => {
            Err(none())
        }
        Err(error) => Err(error),
    }
}

/// A commit in the middle of a merge would become a part of it.
fn refuse_in_the_middle(git: Git<'_>) -> Result<(), CommitError> {
    let in_the_middle = |what: &str| CommitError::InTheMiddle {
        tree: git.tree.to_owned(),
        what: what.to_owned(),
    };
    for (name, what) in MIDDLES {
        let path = git
            .command(["rev-parse", "--git-path", name])
            .line(&mut io::empty())?;
        if git.tree.join(path).exists() {
            return Err(in_the_middle(what));
        }
    }
    let unmerged = git
        .command(["ls-files", "--unmerged", "-z"])
        .answer(&mut io::empty())?;
    match unmerged.is_empty() {
        true => Ok(()),
        false => Err(in_the_middle("a merge with conflicts")),
    }
}

/// Git's answer ends with a time, which is cut off.
fn person(git: Git<'_>, variable: &str) -> Result<Person, CommitError> {
    let answer = git.command(["var", variable]).line(&mut io::empty());
    let answer = match answer {
        Err(CommitError::Refused { .. }) => return Err(CommitError::NoPerson),
        answer => answer?,
    };
    let (who, _) = answer.rsplit_once('>').ok_or(CommitError::NoPerson)?;
    let (name, email) = who.rsplit_once(" <").ok_or(CommitError::NoPerson)?;
    Ok(Person {
        name: name.to_owned(),
        email: email.to_owned(),
    })
}

/// The commit that a name stands for; nothing where there is none yet.
fn commit_at(git: Git<'_>, name: &str) -> Result<Option<String>, CommitError> {
    let name = format!("{name}^{{commit}}");
    let asked = git.command(["rev-parse", "-q", "--verify", &name]);
    Ok(asked
        .maybe(&mut io::empty())?
        .map(|answer| one_line(&answer)))
}

/// Nothing where HEAD is on no branch.
fn branch(git: Git<'_>) -> Result<Option<String>, CommitError> {
    let asked = git.command(["symbolic-ref", "-q", "HEAD"]);
    Ok(asked
        .maybe(&mut io::empty())?
        .map(|answer| one_line(&answer)))
}

fn tree_of(git: Git<'_>, commit: &str) -> Result<String, CommitError> {
    let name = format!("{commit}^{{tree}}");
    git.command(["rev-parse", "--verify", &name])
        .line(&mut io::empty())
}
