//! Directories that are not wholly known yet.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_work_rules::{Child, Directory, Tree};

/// It becomes a [`Directory`] when its last part is done: its listing, each batch of its files that was put off,
/// and each directory in it.
#[derive(Debug)]
pub(super) struct Pending {
    above: Option<Arc<Pending>>,
    /// What it may lie over, in an overlay.
    pub(super) over: Option<Arc<Directory>>,
    /// From the root, which itself is empty.
    pub(super) path: Box<[u8]>,
    parts_left: AtomicUsize,
    known: Mutex<KnownPart>,
}

#[derive(Debug, Default)]
struct KnownPart {
    mode: u32,
    children: Vec<(Box<[u8]>, Child)>,
}

impl Pending {
    pub(super) fn root(over: Option<&Arc<Directory>>) -> Arc<Self> {
        Self::new(None, [].into(), over.cloned())
    }

    /// What an upper directory lies over is looked up as it is gone down, and nothing where a file lay there
    /// before.
    pub(super) fn below(above: &Arc<Self>, name: &[u8], over: Option<&Directory>) -> Arc<Self> {
        let over = match over.and_then(|over| over.child(name)) {
            Some(Child::Directory(over)) => Some(over.clone()),
            Some(Child::Leaf(_)) | None => None,
        };
        Self::new(Some(above.clone()), above.child(name), over)
    }

    fn new(above: Option<Arc<Self>>, path: Box<[u8]>, over: Option<Arc<Directory>>) -> Arc<Self> {
        Arc::new(Self {
            above,
            over,
            path,
            // The listing.
            parts_left: AtomicUsize::new(1),
            known: Mutex::default(),
        })
    }

    /// The path of a name in this directory.
    pub(super) fn child(&self, name: &[u8]) -> Box<[u8]> {
        match self.path.is_empty() {
            true => name.into(),
            false => [&self.path, &b"/"[..], name].concat().into(),
        }
    }

    /// Called before the part that is under way is done.
    pub(super) fn expect_parts(&self, parts: usize) {
        self.parts_left.fetch_add(parts, Ordering::Relaxed);
    }

    pub(super) fn set_mode(&self, mode: u32) {
        self.with_known(|known| known.mode = mode);
    }

    pub(super) fn add(&self, mut children: Vec<(Box<[u8]>, Child)>) {
        self.with_known(|known| match known.children.is_empty() {
            true => known.children = children,
            false => known.children.append(&mut children),
        });
    }

    fn with_known<T>(&self, f: impl FnOnce(&mut KnownPart) -> T) -> T {
        f(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One part of a directory is done. If it was the last one, the directory is a part of the one above.
pub(super) fn part_done(dir: &Arc<Pending>, tree: &Mutex<Option<Tree>>) {
    let mut dir = dir;
    while dir.parts_left.fetch_sub(1, Ordering::AcqRel) == 1 {
        let KnownPart { mode, children } = dir.with_known(std::mem::take);
        let Some(above) = &dir.above else {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            *tree = Some(Tree::new(children));
            return;
        };
        let name = dir.path.rsplit(|&byte| byte == b'/').next();
        let name = name.expect("splitting gives at least one part");
        let directory = Directory::new(mode, children);
        above.add(vec![(name.into(), Child::Directory(Arc::new(directory)))]);
        dir = above;
    }
}
