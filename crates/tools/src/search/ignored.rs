//! What the `.gitignore` files of the working directory leave out. Those above it and those of the
//! user are not looked at: the result depends on the directory alone.

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::beneath::{Links, Root};
use crate::workdir::{load, open_entry};

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
    pub(super) fn above(root: &Root, start: &Path) -> Self {
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
                    patterns: root
                        .read(&dir.join(NAME), Links::Inside, PATTERNS_BYTES_MAX)
                        .ok()
                        .and_then(|content| patterns(&content)),
                });
            }
        }
        ignored.above = ignored.levels.len();
        ignored
    }

    pub(super) fn enter(&mut self, dir: &OwnedFd, path: &Path) {
        self.levels.push(Level {
            dir: path.to_path_buf(),
            patterns: patterns_of(dir),
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

/// A file that is missing, unreadable, a link or too large leaves nothing out.
fn patterns_of(dir: &OwnedFd) -> Option<Gitignore> {
    let (file, stat) = open_entry(dir, Path::new(NAME)).ok()??;
    patterns(&load(&file, &stat, PATTERNS_BYTES_MAX).ok()??)
}

/// A bad line leaves nothing out.
fn patterns(content: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(content).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
