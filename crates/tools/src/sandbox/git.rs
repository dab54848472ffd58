//! Where git keeps a repository whose `.git` is no directory: a link, or a file that names the place.
//!
//! Both readings are needed. What is protected from a command is everything that a `.git` leads to, whoever
//! wrote it: too much protection harms nobody. What is shown to a command, although it is hidden, must be
//! confirmed by the place itself, or a command could write a `.git` that opens a repository in the person's
//! home.

use std::path::{Path, PathBuf};

/// What git keeps for a `.git`, besides itself: what a link leads to, or what a work tree's file names.
///
/// For a work tree these are its own directory and the repository that it shares with others, where the hooks
/// and the configuration are.
pub(super) fn kept_for(git: &Path) -> Vec<PathBuf> {
    let Ok(metadata) = std::fs::metadata(git) else {
        return vec![];
    };
    if metadata.is_dir() {
        let resolved = git.canonicalize().ok();
        return resolved
            .filter(|resolved| resolved != git)
            .into_iter()
            .collect();
    }
    let Some(place) = named_by(git) else {
        return vec![];
    };
    let shared = std::fs::read_to_string(place.join("commondir")).ok();
    let shared = shared.and_then(|named| place.join(named.trim()).canonicalize().ok());
    [place].into_iter().chain(shared).collect()
}

/// The same where the place says itself that it is of this work tree. Anybody can write a file that names a repository
/// of somebody else's.
pub(super) fn confirmed_for(git: &Path) -> Vec<PathBuf> {
    let is_confirmed = named_by(git).is_some_and(|place| {
        let back = std::fs::read_to_string(place.join("gitdir")).unwrap_or_default();
        let back = place.join(back.trim());
        back.canonicalize().ok() == git.canonicalize().ok()
    });
    match is_confirmed {
        true => kept_for(git),
        false => vec![],
    }
}

/// `None` where it is no file, is too large for one, does not begin as git writes it, or names what is not
/// there.
fn named_by(git: &Path) -> Option<PathBuf> {
    let metadata = std::fs::metadata(git).ok()?;
    // Nobody writes a path of more.
    let text = (metadata.is_file() && metadata.len() < 8192).then(|| std::fs::read_to_string(git));
    let text = text?.ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    git.parent()?.join(named).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_trees_place_is_found_and_confirmed_only_by_itself() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().canonicalize().expect("it is there");
        for dir in ["main/.git/worktrees/w", "w", "evil"] {
            std::fs::create_dir_all(top.join(dir)).expect("it can be made");
        }
        let write =
            |path: PathBuf, text: String| std::fs::write(path, text).expect("it is written");
        let place = top.join("main/.git/worktrees/w");
        for tree in ["w", "evil"] {
            write(
                top.join(tree).join(".git"),
                format!("gitdir: {}\n", place.display()),
            );
        }
        write(place.join("commondir"), "../..\n".into());
        write(
            place.join("gitdir"),
            format!("{}\n", top.join("w/.git").display()),
        );
        let kept = [place, top.join("main/.git")];
        assert!(kept_for(&top.join("main/.git")).is_empty());
        assert_eq!(kept_for(&top.join("w/.git")), kept);
        assert_eq!(confirmed_for(&top.join("w/.git")), kept);
        assert_eq!(kept_for(&top.join("evil/.git")), kept);
        assert!(confirmed_for(&top.join("evil/.git")).is_empty());
        std::os::unix::fs::symlink("../main/.git", top.join("evil/link")).expect("it is made");
        assert_eq!(kept_for(&top.join("evil/link")), [top.join("main/.git")]);
    }
}
