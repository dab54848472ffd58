//! What lies in a directory, read by the test's own eyes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Every name below a directory, with what it is: kind, mode, and content or target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Seen>);

#[derive(Clone, PartialEq, Eq)]
enum Seen {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: PathBuf },
    Special,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory { mode } => write!(f, "directory {mode:o}"),
            Self::File { mode, content } => {
                let begin = content.get(..60).unwrap_or(content);
                let text = String::from_utf8_lossy(begin);
                write!(f, "file {mode:o} of {} bytes: {text:?}", content.len())
            }
            Self::Link { target } => write!(f, "link to {}", target.display()),
            Self::Special => f.write_str("special"),
        }
    }
}

impl Snapshot {
    /// Everything but what git keeps.
    pub(crate) fn of_tree(root: &Path) -> Self {
        Self::of(root, |path| path != Path::new(".git"))
    }

    /// What git keeps: index, HEAD, refs, logs, stash, objects, all of it.
    pub(crate) fn of_repository(root: &Path) -> Self {
        Self::of(&root.join(".git"), |_| true)
    }

    fn of(root: &Path, is_meant: impl Fn(&Path) -> bool) -> Self {
        let mut seen = BTreeMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(path) = left.pop() {
            let full = root.join(&path);
            let Some(it) = see(&full) else {
                continue;
            };
            if matches!(it, Seen::Directory { .. }) {
                let entries = fs::read_dir(&full).expect("a directory can be read");
                let names = entries.map(|entry| entry.expect("an entry can be read").file_name());
                let below = names.map(|name| path.join(name));
                left.extend(below.filter(|path| is_meant(path)));
            }
            seen.insert(path, it);
        }
        Self(seen)
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.0.retain(|it, _| !it.starts_with(path));
        self
    }

    /// What tells two of them apart, for a person.
    pub(crate) fn difference(&self, other: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differ = names
            .into_iter()
            .filter(|name| self.0.get(*name) != other.0.get(*name));
        let told = differ.map(|name| {
            let (one, two) = (self.0.get(name), other.0.get(name));
            format!("{}: {one:?} and {two:?}", name.display())
        });
        told.collect()
    }
}

fn see(path: &Path) -> Option<Seen> {
    let metadata = path.symlink_metadata().ok()?;
    let (kind, mode) = (metadata.file_type(), metadata.mode() & 0o7777);
    Some(if kind.is_dir() {
        Seen::Directory { mode }
    } else if kind.is_symlink() {
        let target = fs::read_link(path).expect("a link can be read");
        Seen::Link { target }
    } else if kind.is_fifo() || kind.is_socket() {
        Seen::Special
    } else {
        let content = fs::read(path).expect("a file can be read");
        Seen::File { mode, content }
    })
}
