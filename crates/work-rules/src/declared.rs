//! Paths as a work item declares them: a file, a directory with all below it, or a pattern.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::path::{BadTreePath, TreePath};
use super::tree::{Child, Directory, Tree};

/// A path inside the tree. `*` and `?` stand for letters of one name, `**` for any number of names; a `/` at the
/// end says that a directory is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeclaredPath {
    /// Without the `/` at its end.
    path: TreePath,
    names_directory: bool,
}

/// The first names of absolute paths that lead out of every tree. Other paths that begin with `/` are taken from
/// the tree's root, as work items write them.
const OUTSIDE: [&str; 24] = [
    "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media",
    "mnt", "nix", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr",
    "var",
];

/// The paths that [`DeclaredPath::new`] takes, for editors: all but those that lead out of every tree.
pub(super) const DECLARED_PATTERN: &str =
    r"^/?(?:\./)?(?!\.{1,2}(?:/|$))[^/\u0000]+(?:/(?!\.{1,2}(?:/|$))[^/\u0000]+)*/?$";

impl DeclaredPath {
    /// `root` is the tree's own absolute path, where it is known: what lies below it is inside the tree.
    pub fn new(written: &str, root: Option<&str>) -> Result<Self, BadTreePath> {
        let inside = inside(written, root).ok_or_else(|| BadTreePath {
            path: written.chars().take(200).collect(),
        })?;
        let bare = inside.strip_suffix('/').unwrap_or(inside);
        let bare = bare.strip_prefix("./").unwrap_or(bare);
        Ok(Self {
            path: TreePath::new(bare)?,
            names_directory: inside.ends_with('/'),
        })
    }

    /// The path, where it is that of one file that must be there.
    pub fn plain(&self) -> Option<&TreePath> {
        let is_plain = !self.is_pattern() && !self.names_directory;
        is_plain.then_some(&self.path)
    }

    fn is_pattern(&self) -> bool {
        self.path.as_bytes().iter().any(|byte| b"*?".contains(byte))
    }

    /// Whether a path is declared by this: it is it, lies below it, or fits the pattern.
    pub fn covers(&self, path: &TreePath) -> bool {
        match self.is_pattern() {
            true => fits(&self.path, path),
            false => path.is_within(&self.path),
        }
    }

    /// Whether a tree has it, or anything that fits the pattern.
    pub fn is_in(&self, tree: &Tree) -> bool {
        match (self.is_pattern(), tree.get(&self.path)) {
            (true, _) => self.is_below(None, tree.root()),
            (false, Some(Child::Directory(_))) => true,
            (false, Some(Child::Leaf(_))) => !self.names_directory,
            (false, None) => false,
        }
    }

    fn is_below(&self, at: Option<&TreePath>, directory: &Directory) -> bool {
        directory.children().iter().any(|(name, child)| {
            let Ok(path) = TreePath::child(at, name) else {
                return false;
            };
            let below = match child {
                Child::Directory(directory) => Some(directory),
                Child::Leaf(_) => None,
            };
            let is_it = self.covers(&path) && (below.is_some() || !self.names_directory);
            is_it || below.is_some_and(|directory| self.is_below(Some(&path), directory))
        })
    }
}

/// What was written, from the tree's root.
fn inside<'a>(written: &'a str, root: Option<&str>) -> Option<&'a str> {
    let Some(from_slash) = written.strip_prefix('/') else {
        return Some(written);
    };
    let below_root = root
        .and_then(|root| written.strip_prefix(root.trim_end_matches('/')))
        .and_then(|rest| rest.strip_prefix('/'));
    if below_root.is_some_and(|rest| !rest.is_empty()) {
        return below_root;
    }
    let first = from_slash.split('/').next().unwrap_or_default();
    (!OUTSIDE.contains(&first)).then_some(from_slash)
}

impl fmt::Display for DeclaredPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.names_directory { "/" } else { "" };
        write!(f, "{}{end}", self.path)
    }
}

impl TryFrom<String> for DeclaredPath {
    type Error = BadTreePath;

    fn try_from(written: String) -> Result<Self, BadTreePath> {
        Self::new(&written, None)
    }
}

impl From<DeclaredPath> for String {
    fn from(declared: DeclaredPath) -> Self {
        declared.to_string()
    }
}

fn fits(pattern: &TreePath, path: &TreePath) -> bool {
    let pattern: Vec<&[u8]> = pattern.names().collect();
    let names: Vec<&[u8]> = path.names().collect();
    let is_star = |part: &&[u8]| *part == b"**";
    wildcard(&pattern, &names, is_star, |part, name| {
        wildcard(
            part,
            name,
            |byte| *byte == b'*',
            |wanted, byte| *wanted == b'?' || wanted == byte,
        )
    })
}

/// Whether parts fit a pattern in which a star stands for any number of them. Takes at most as many comparisons
/// as the product of both lengths: only the last star needs to be tried again.
fn wildcard<P, N>(
    pattern: &[P],
    parts: &[N],
    is_star: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &N) -> bool,
) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while part < parts.len() {
        match pattern.get(at) {
            Some(wanted) if is_star(wanted) => {
                star = Some((at, part));
                at += 1;
            }
            Some(wanted) if fits(wanted, &parts[part]) => {
                at += 1;
                part += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else {
                    return false;
                };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                part = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(is_star)
}
