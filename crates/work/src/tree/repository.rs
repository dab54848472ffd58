//! Whether git is in the middle of something.
//!
//! Files are looked at and git itself is not asked: a tree is worked on without git too, and its configuration
//! could start programs.

use std::path::{Path, PathBuf};

use super::error::TreeError;
use bonded_host::regular;

/// Far more than the path that a `.git` names takes.
const GIT_FILE_BYTES_MAX: u64 = 64 * 1024;

/// What git leaves in its directory while something is under way: the name, what that is, and how to end it.
const UNDER_WAY: [(&str, &str, &str); 8] = [
    ("MERGE_HEAD", "merge", "git merge --abort"),
    ("rebase-merge", "rebase", "git rebase --abort"),
    (
        "rebase-apply",
        "rebase",
        "git rebase --abort, or git am --abort",
    ),
    ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "revert", "git revert --abort"),
    (
        "sequencer",
        "cherry-pick",
        "git cherry-pick --abort, or git revert --abort",
    ),
    ("BISECT_LOG", "bisect", "git bisect reset"),
    ("BISECT_START", "bisect", "git bisect reset"),
];

/// Refuses a bare repository, and one in the middle of something. A directory without git is fine.
pub fn check_repository(root: &Path) -> Result<(), TreeError> {
    let root = root.canonicalize().map_err(TreeError::unreadable(root))?;
    if is_git_directory(&root) {
        return Err(TreeError::Bare { path: root });
    }
    let Some(git) = git_directory_above(&root) else {
        return Ok(());
    };
    let under_way = UNDER_WAY.iter().find(|(name, ..)| git.join(name).exists());
    match under_way {
        None => Ok(()),
        Some((_, what, hint)) => Err(TreeError::InTheMiddle {
            path: root,
            what,
            hint,
        }),
    }
}

/// As git itself tells it.
fn is_git_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// What git would use in this directory.
fn git_directory_above(root: &Path) -> Option<PathBuf> {
    let dot_git = root.ancestors().map(|above| above.join(".git"));
    dot_git.filter_map(|it| resolved(&it)).next()
}

/// In a worktree and in a submodule `.git` is a file that names the real directory.
fn resolved(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = regular::read_text(dot_git, GIT_FILE_BYTES_MAX).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent()?.join(target))
}
