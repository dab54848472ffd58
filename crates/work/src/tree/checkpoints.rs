//! Trees as they were: frozen, kept, and restored.
//!
//! A freeze is a state that the tree had at one moment, or it is none: a pass that saw a change under way is
//! made again. It costs reading only what has changed since the last one. What is kept is never removed here,
//! since receipts name it for as long as they are kept.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::Hash;
use bonded_work_rules::Tree;

use super::contents::Contents;
use super::error::TreeError;
use super::looks::{Eye, Looks};
use super::objects::{ContentReader, Objects, ObjectsId, Streamed};
use super::pass::{Extent, Pass, PassFault};
use super::stat_cache::StatCache;
use crate::files::make_private_directory;

/// How often a tree that changes under the freeze is tried.
const TRIES: usize = 3;
/// How often that is done by who has patience, and how long it is waited then, longer each time.
const PATIENT_TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_millis(5);
/// Longer than a tick of a file system's clock.
const SETTLED: Duration = Duration::from_millis(30);
/// How often that is waited for.
const SETTLES: usize = 3;

/// Everything that is kept about trees, in a directory outside of all of them.
///
/// [`freeze`](Self::freeze), then [`sync`](Self::sync) before anything is done that cannot be undone without what
/// was frozen; [`restore`](Self::restore) at any time after that.
#[derive(Debug)]
pub struct Checkpoints {
    dir: PathBuf,
    objects: Objects,
    /// What is known of each tree, by the file in which it is kept.
    known: Mutex<BTreeMap<PathBuf, KnownTree>>,
    eye: Eye,
}

/// The cache of a tree in this process, and whether the file of it is as new.
#[derive(Debug)]
struct KnownTree {
    stats: Arc<StatCache>,
    is_saved: bool,
}

/// A tree at one moment, with all of its contents kept.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// What lies where, by hash.
    pub tree: Tree,
    /// Without links, absolute.
    pub root: PathBuf,
    /// The files that had to be read.
    pub files_read: usize,
    /// What is named `.git` in it, which is no part of it.
    pub git: Vec<PathBuf>,
    pub(super) stats: Arc<StatCache>,
    pub(super) looks: Looks,
    /// Whether what lies at the root was this tree when it was looked at.
    pub(super) is_there: bool,
}

impl Frozen {
    /// An earlier state of the same tree.
    pub fn as_it_was(self, tree: Tree) -> Self {
        Self {
            is_there: self.is_there && tree.hash() == self.tree.hash(),
            tree,
            ..self
        }
    }

    /// A tree that lies on another machine, whose contents are kept here.
    pub(crate) fn elsewhere(tree: Tree) -> Self {
        Self {
            tree,
            root: PathBuf::new(),
            files_read: 0,
            git: vec![],
            stats: Arc::new(StatCache::new(0, vec![])),
            looks: Looks::default(),
            is_there: false,
        }
    }

    /// Whether somebody changed the tree between this and a later freeze of the same [`Checkpoints`], be it there and
    /// back.
    pub fn was_changed_until(&self, later: &Self) -> bool {
        !self.looks.are_those_of(&later.looks)
    }
}

impl Checkpoints {
    /// Opens the directory, or makes it.
    pub fn open(dir: &Path) -> Result<Self, TreeError> {
        make_private_directory(dir).map_err(TreeError::kept(dir))?;
        let dir = dir.canonicalize().map_err(TreeError::kept(dir))?;
        let objects = Objects::open(&dir.join("objects"))?;
        Ok(Self {
            dir,
            objects,
            known: Mutex::default(),
            eye: Eye::default(),
        })
    }

    /// Where all of it lies, without links.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where things about the tree at a root are kept. The root is absolute and without links.
    pub fn tree_dir(&self, root: &Path) -> PathBuf {
        let name = Hash::of(root.as_os_str().as_encoded_bytes());
        self.dir.join("trees").join(name.to_string())
    }

    /// Takes the tree as it is now, without what is named `.git`. Its contents are kept, and durable after the next
    /// [`sync`](Self::sync).
    ///
    /// What is kept must not lie within the tree, else each freeze would change what the next one sees. The
    /// cache is renewed after a pass that came to nothing too, so that the next one has less to read.
    pub fn freeze(&self, root: &Path) -> Result<Frozen, TreeError> {
        let root = root.canonicalize().map_err(TreeError::unreadable(root))?;
        if self.dir.starts_with(&root) {
            let kept = self.dir.clone();
            return Err(TreeError::KeptInside { kept, root });
        }
        let pass = Pass::new(&root, Extent::WithoutGit, Some(&self.objects))?.with_eye(&self.eye);
        let kept_at = self.tree_dir(&root).join("stat-cache");
        let mut stats = self.stats(&kept_at, pass.device());
        let mut changed = root.clone();
        let mut files_read = 0;
        for _ in 0..TRIES {
            let passed = pass.run(&stats);
            files_read += passed.files_read;
            if !passed.fresh.is_empty() {
                stats = Arc::new(stats.renewed(passed.fresh));
                let tree = KnownTree {
                    stats: stats.clone(),
                    is_saved: false,
                };
                self.known().insert(kept_at.clone(), tree);
            }
            match passed.tree {
                Ok(tree) => {
                    return Ok(Frozen {
                        tree,
                        root,
                        files_read,
                        git: passed.git.into_iter().map(as_path).collect(),
                        stats,
                        looks: passed.looks,
                        is_there: true,
                    });
                }
                Err(PassFault::Changed(path)) => changed = path,
                Err(PassFault::Refused(error)) => return Err(error),
            }
        }
        Err(TreeError::Busy { path: changed })
    }

    /// The same for a tree in which somebody may be at work.
    pub fn freeze_patiently(&self, root: &Path) -> Result<Frozen, TreeError> {
        let mut tried = 0;
        loop {
            match self.freeze(root) {
                Err(TreeError::Busy { .. }) if tried < PATIENT_TRIES => {
                    tried += 1;
                    std::thread::sleep(PAUSE * tried);
                }
                frozen => return frozen,
            }
        }
    }

    /// The same for a tree that copies are to be made of. Of a large one they stand on the tree itself, and then it
    /// is waited until whatever is changed later can be told.
    ///
    /// A change right after a freeze may leave the same times behind, until the clock of the file system has
    /// ticked. Waiting a tick and freezing again makes sure that it cannot.
    pub fn freeze_for_copies(&self, root: &Path) -> Result<Frozen, TreeError> {
        let mut frozen = self.freeze_patiently(root)?;
        for _ in 0..SETTLES {
            if frozen.looks.is_small() || frozen.looks.is_settled() {
                break;
            }
            std::thread::sleep(SETTLED);
            frozen = self.freeze_patiently(root)?;
        }
        Ok(frozen)
    }

    /// Whether what lies at the root is the tree that was frozen, and was so all the time. What cannot be looked at
    /// is not.
    pub fn is_as_frozen(&self, frozen: &Frozen) -> bool {
        let now = self.freeze(&frozen.root);
        let is_known = frozen.is_there && frozen.looks.is_settled();
        is_known && now.is_ok_and(|now| !frozen.was_changed_until(&now))
    }

    /// Returns when every content that was kept before is durable.
    ///
    /// The contents first, then the cache: one that is saved says that the contents of its files are kept.
    pub fn sync(&self) -> Result<(), TreeError> {
        let unsaved: Vec<_> = self
            .known()
            .iter_mut()
            .filter_map(|(path, tree)| {
                let was_saved = std::mem::replace(&mut tree.is_saved, true);
                (!was_saved).then(|| (path.clone(), tree.stats.clone()))
            })
            .collect();
        self.objects.sync()?;
        for (path, stats) in unsaved {
            // Without it, files are read again.
            let _ = save(&stats, &path, self.objects.id());
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, KnownTree>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of this process, or else the one in the file.
    fn stats(&self, kept_at: &Path, device: u64) -> Arc<StatCache> {
        let known = self.known().get(kept_at).map(|tree| tree.stats.clone());
        known.unwrap_or_else(|| StatCache::load(kept_at, device, self.objects.id()).into())
    }

    /// Keeps a content that is no file's.
    pub fn put(&self, content: &[u8]) -> Result<Hash, TreeError> {
        let hash = Hash::of(content);
        self.objects.put(hash, content)?;
        Ok(hash)
    }

    /// The same for one that is read piece by piece, and is so long.
    pub(crate) fn put_long(&self, content: &mut dyn io::Read, bytes: u64) -> Result<(), TreeError> {
        let kept = self.objects.put_stream(content, bytes);
        match kept.map_err(TreeError::kept(&self.dir))? {
            Streamed::Kept(_) => Ok(()),
            Streamed::OtherLength => Err(TreeError::Busy {
                path: self.dir.clone(),
            }),
            Streamed::Refused(error) => Err(error),
        }
    }

    /// Whether the content is kept.
    pub fn has(&self, content: Hash) -> bool {
        self.objects.has(content)
    }

    /// A content, which is checked while it is read.
    pub fn read(&self, content: Hash) -> Result<ContentReader, TreeError> {
        self.objects.read(content)
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }
}

/// The contents that checkpoints keep, for those who only look: nothing is made and nothing is removed.
#[derive(Debug)]
pub(crate) struct KeptContents(Objects);

impl KeptContents {
    /// Of the directory of checkpoints, whether it is there or not.
    pub(crate) fn look(dir: &Path) -> Self {
        Self(Objects::look(&dir.join("objects")))
    }

    /// A content, which is checked while it is read.
    pub(crate) fn read(&self, content: Hash) -> Result<ContentReader, TreeError> {
        self.0.read(content)
    }
}

impl Contents for Checkpoints {
    fn read(&self, content: &Hash) -> io::Result<Box<dyn io::Read + '_>> {
        match self.objects.read(*content) {
            Ok(content) => Ok(Box::new(content)),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

fn as_path(bytes: Box<[u8]>) -> PathBuf {
    OsString::from_vec(bytes.into()).into()
}

/// The state of a tree that nobody writes to just now; nothing of it is kept.
pub fn tree_of(root: &Path) -> Result<Tree, TreeError> {
    let pass = Pass::new(root, Extent::WithoutGit, None)?;
    let passed = pass.run(&StatCache::new(0, vec![]));
    passed.tree.map_err(|fault| match fault {
        PassFault::Changed(path) => TreeError::Busy { path },
        PassFault::Refused(error) => error,
    })
}

/// The directory of a tree is made with the first thing that is kept about it.
fn save(stats: &StatCache, path: &Path, objects: ObjectsId) -> io::Result<()> {
    make_private_directory(path.parent().unwrap_or(path))?;
    stats.save(path, objects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Copies, Isolation};

    #[test]
    fn a_tree_that_lies_elsewhere_is_copied_of_what_is_kept_of_it() {
        let all = tempfile::tempdir().expect("a directory can be made");
        let tree = all.path().join("tree");
        std::fs::create_dir(&tree).expect("a directory can be made");
        std::fs::write(tree.join("file"), "content").expect("a file can be written");
        let checkpoints = Checkpoints::open(&all.path().join("kept")).expect("it opens");
        let frozen = checkpoints.freeze(&tree).expect("it is frozen");
        std::fs::remove_dir_all(&tree).expect("it is removed");
        let elsewhere = Frozen::elsewhere(frozen.tree);
        let copies = Copies::open(&all.path().join("copies"), "c", Isolation::Copy);
        let copies = copies.expect("they can be made");
        let copy = copies.make_apart(&checkpoints, &elsewhere, "one");
        let copy = copy.expect("it is made");
        assert_eq!(copy.changes().expect("it is looked at").changes, []);
        std::fs::write(copy.path().join("file"), "another").expect("it is written");
        let changes = copy.changes().expect("it is looked at").changes;
        assert_eq!(changes.len(), 1);
        copy.keep(&checkpoints, &changes).expect("they are kept");
        assert!(checkpoints.has(Hash::of(b"another")));
    }
}
