//! What the `.gitignore` files of the working directory leave out. Those above it and those of the
//! user are not looked at: the result depends on the directory alone.

use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workdir::{Follow, load, open_regular};

const NAME: &str = ".gitignore";

/// A larger file of patterns is not a file of patterns.
const PATTERNS_BYTES_MAX: u64 = 1024 * 1024;

/// The patterns that hold in the directory where a walk is, the outermost first.
pub(super) struct Ignored {
    levels: Vec<Level>,
    /// How many of the levels lie above the start of the walk.
    above: usize,
}

struct Level {
    dir: PathBuf,
    patterns: Option<Gitignore>,
}

impl Ignored {
    /// The patterns of the directories above `start`, which is relative to `root`.
    pub(super) fn above(root: &Dir, start: &Path) -> Self {
        let mut ignored = Self {
            levels: Vec::new(),
            above: 0,
        };
        let climbs = start.components().any(|part| part == Component::ParentDir);
        // A path that goes up and down has no directories above it that could be told by its spelling.
        if !climbs {
            let outermost_first: Vec<&Path> = start.ancestors().skip(1).collect();
            for dir in outermost_first.into_iter().rev() {
                ignored.levels.push(Level {
                    dir: dir.to_path_buf(),
                    patterns: patterns_of(root, &dir.join(NAME)),
                });
            }
        }
        ignored.above = ignored.levels.len();
        ignored
    }

    pub(super) fn enter(&mut self, dir: &Dir, path: &Path) {
        self.levels.push(Level {
            dir: path.to_path_buf(),
            patterns: patterns_of(dir, Path::new(NAME)),
        });
    }

    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// How deep the walk is, counted from its start.
    pub(super) fn depth(&self) -> usize {
        self.levels.len() - self.above
    }

    /// Whether an entry is left out: the innermost patterns that say something about it decide.
    pub(super) fn matches(&self, path: &Path, is_dir: bool) -> bool {
        for level in self.levels.iter().rev() {
            let (Some(patterns), Ok(inner)) = (&level.patterns, path.strip_prefix(&level.dir))
            else {
                continue;
            };
            match patterns.matched(inner, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// A file that is missing, unreadable or too large leaves nothing out; nor does a bad line in it.
fn patterns_of(dir: &Dir, path: &Path) -> Option<Gitignore> {
    let (mut file, metadata) = open_regular(dir, path, Follow::No, NAME).ok()?;
    let content = load(&mut file, &metadata, PATTERNS_BYTES_MAX).ok()??;
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(&content).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
