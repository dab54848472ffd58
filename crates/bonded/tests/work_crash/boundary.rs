//! Where a plan can be met on its way: what it has made durable so far.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// Something that a plan leaves behind, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// The logs have so many entries.
    Entries(u32),
    /// A path is there; `*` stands for any name in a directory.
    There(String),
}

/// Looks whether a boundary is reached.
pub(crate) struct Lookout<'a> {
    dir: &'a Path,
    store: Option<Connection>,
}

impl<'a> Lookout<'a> {
    /// `dir` holds the store, what belongs to it, and the tree.
    pub(crate) fn new(dir: &'a Path) -> Self {
        Self { dir, store: None }
    }

    pub(crate) fn sees(&mut self, boundary: &Boundary) -> bool {
        match boundary {
            Boundary::Entries(entries) => self.entries() >= *entries,
            Boundary::There(pattern) => resolve(self.dir, pattern).is_some(),
        }
    }

    /// How many entries all logs have together.
    pub(crate) fn entries(&mut self) -> u32 {
        if self.store.is_none() {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
            let store = self.dir.join("store.db");
            self.store = Connection::open_with_flags(store, flags).ok();
        }
        let count = |store: &Connection| {
            let counted = store.query_row("SELECT count(*) FROM entry", [], |row| row.get(0));
            // While the store is made there is no such table, or it is not to be read.
            counted.unwrap_or(0)
        };
        self.store.as_ref().map_or(0, count)
    }
}

/// A path that a pattern means, if there is one.
pub(crate) fn resolve(dir: &Path, pattern: &str) -> Option<PathBuf> {
    let Some((name, rest)) = pattern.split_once('*') else {
        let path = dir.join(pattern);
        return path.symlink_metadata().is_ok().then_some(path);
    };
    let rest = rest.trim_start_matches('/');
    let entries = fs::read_dir(dir.join(name)).ok()?.flatten();
    let mut paths = entries.map(|entry| entry.path());
    match rest {
        "" => paths.next(),
        rest => paths.find_map(|path| resolve(&path, rest)),
    }
}

/// The files below a directory, as patterns with `*` for the first name.
pub(crate) fn files_below(dir: &Path, within: &str) -> Vec<String> {
    let Some(one) = resolve(dir, &format!("{within}/*")) else {
        return vec![];
    };
    let mut files = vec![];
    let mut left = vec![(one, format!("{within}/*"))];
    while let Some((path, pattern)) = left.pop() {
        for entry in fs::read_dir(&path).expect("a directory can be read") {
            let entry = entry.expect("an entry can be read");
            let pattern = format!("{pattern}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => left.push((entry.path(), pattern)),
                false => files.push(pattern),
            }
        }
    }
    files.sort();
    files
}
