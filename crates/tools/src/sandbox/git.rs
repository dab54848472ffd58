//! What git keeps: a command that could change it could have git run anything later, outside.

use std::path::{Path, PathBuf};

/// How far below the top repositories are looked for, and in how many directories at most.
const DEPTH_MAX: usize = 3;
const DIRECTORIES_MAX: usize = 500;
const FOUND_MAX: usize = 32;

/// What git keeps of the repository whose top this directory is. A work tree's `.git` is a file that
/// names the place.
pub(super) fn kept_for(dir: &Path) -> Vec<PathBuf> {
    let own = dir.join(".git");
    let Ok(metadata) = std::fs::metadata(&own) else {
        return vec![];
    };
    let mut kept = vec![own.clone()];
    if metadata.is_file() {
        let text = std::fs::read_to_string(&own).unwrap_or_default();
        let named = text.strip_prefix("gitdir:").map(str::trim);
        let place = named.and_then(|named| dir.join(named).canonicalize().ok());
        let shared = place.as_ref().and_then(|place| {
            let named = std::fs::read_to_string(place.join("commondir")).ok()?;
            place.join(named.trim()).canonicalize().ok()
        });
        kept.extend(place);
        kept.extend(shared);
    } else if let Ok(resolved) = own.canonicalize()
        && resolved != own
    {
        kept.push(resolved);
    }
    kept
}

/// The repositories below a directory, as far as they are found cheaply.
pub(super) fn nested(top: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut level = vec![top.to_owned()];
    let mut looked_at = 0;
    for _ in 0..DEPTH_MAX {
        let mut below = vec![];
        for dir in level {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_dir && entry.file_name() != ".git" {
                    below.push(entry.path());
                }
            }
        }
        below.truncate(DIRECTORIES_MAX - looked_at);
        looked_at += below.len();
        found.extend(below.iter().flat_map(|dir| kept_for(dir)));
        level = below;
    }
    found.truncate(FOUND_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_work_trees_and_nested_ones_are_found() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().canonicalize().expect("it is there");
        for dir in ["main/.git/worktrees/w", "main/a/b/.git", "w", "plain/x"] {
            std::fs::create_dir_all(top.join(dir)).expect("it can be made");
        }
        let place = top.join("main/.git/worktrees/w");
        std::fs::write(top.join("w/.git"), format!("gitdir: {}\n", place.display()))
            .expect("it can be written");
        std::fs::write(place.join("commondir"), "../..\n").expect("it can be written");
        let paths = |paths: &[&str]| paths.iter().map(|path| top.join(path)).collect::<Vec<_>>();
        assert_eq!(kept_for(&top.join("main")), paths(&["main/.git"]));
        assert_eq!(
            kept_for(&top.join("w")),
            paths(&["w/.git", "main/.git/worktrees/w", "main/.git"])
        );
        assert!(kept_for(&top.join("plain")).is_empty());
        assert_eq!(nested(&top.join("main")), paths(&["main/a/b/.git"]));
    }
}
