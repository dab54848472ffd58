//! Isolated copies of a tree, one for each work item.
//!
//! What an item does to its copy reaches nobody else, and what it did is told from the copy alone. There are
//! three ways, of which the machine allows the cheapest or not. An overlay costs only what is changed, and
//! stands on a state that was made again from what is kept or, for a large tree, on the tree itself. The others
//! copy every file. What git keeps is no part of a tree: a copy sees it, and whatever was changed of it is
//! reported apart, for the item is denied then.

mod base;
mod overlay;
mod place;
mod whole;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bonded_work_rules::{Change, Node, Tree, TreePath};

use super::checkpoints::{Checkpoints, Frozen};
use super::content::{FileReader, ReadOutcome};
use super::error::TreeError;
use super::isolation::Isolation;
use super::namespace::{failed, knows_everybody};
use super::pass::{Extent, Pass, PassFault, PassResult};
use super::stat_cache::StatCache;
use crate::files::make_private_directory;
use base::Base;
use place::MERGED;
pub(super) use place::OwnPlace;

/// Longer than a tick of a file system's clock, so that the next change is sure to be seen.
const SETTLED: Duration = Duration::from_millis(30);
/// How many paths of git's are named at most.
const GIT_PATHS_MAX: usize = 100;
/// Says since which start of the machine a copy is there.
const BOOT: &str = "boot";
/// Says that a copy stands on what was frozen and not on the tree itself.
const APART: &str = "apart";

/// The copies that one process makes, in a directory of its own. It is removed with this, unless they are to stay.
#[derive(Debug)]
pub struct Copies {
    place: OwnPlace,
    isolation: Isolation,
    /// Held while that is made on which copies stand.
    making: Mutex<()>,
}

impl Copies {
    /// Makes the directory `name` in the directory `all`, and removes what processes that are gone left there. For
    /// [`Isolation::Overlay`] the process must have [entered](super::enter_namespace) its own namespace.
    pub fn open(all: &Path, name: &str, isolation: Isolation) -> Result<Self, TreeError> {
        Self::open_beside(all, name, isolation, &|_| false)
    }

    /// The same, for copies that stay until they are removed; those under the names that are `needed` stay too.
    pub fn open_to_stay(
        all: &Path,
        name: &str,
        isolation: Isolation,
        needed: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TreeError> {
        let needed = |other: &str| other == place::plain(name) || needed(other);
        let mut copies = Self::open_beside(all, name, isolation, &needed)?;
        copies.place.stay();
        Ok(copies)
    }

    /// Directories of processes that still live are locked, and are not taken for leftovers.
    fn open_beside(
        all: &Path,
        name: &str,
        isolation: Isolation,
        needed: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TreeError> {
        make_private_directory(all).map_err(TreeError::unmade(all))?;
        place::remove_leftovers(all, needed).map_err(TreeError::unmade(all))?;
        Ok(Self {
            place: OwnPlace::make(all, &place::plain(name))?,
            isolation,
            making: Mutex::default(),
        })
    }

    /// How the copies are kept apart from the tree.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Makes a copy of the tree as it was frozen. An overlay of a large tree stands on the tree itself, if that could
    /// be told from a later one: [`TreeCopy::is_live`] then, and whoever relies on it asks
    /// [`Checkpoints::is_as_frozen`].
    pub fn make(
        &self,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
        name: &str,
    ) -> Result<TreeCopy, TreeError> {
        let copy = match self.can_be_live(frozen) {
            false => self.make_apart(checkpoints, frozen, name),
            true => self.make_on(Below::Tree, checkpoints, frozen, name),
        };
        match copy {
            // A device cannot be made again, and the tree itself has it.
            Err(TreeError::Device { .. }) if self.isolation == Isolation::Overlay => {
                self.make_on(Below::Tree, checkpoints, frozen, name)
            }
            copy => copy,
        }
    }

    /// Makes a copy on which nobody else has any influence.
    pub fn make_apart(
        &self,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
        name: &str,
    ) -> Result<TreeCopy, TreeError> {
        self.make_on(
            self.below(true, checkpoints, frozen)?,
            checkpoints,
            frozen,
            name,
        )
    }

    /// A small tree is simply made again. A large one is only stood upon if it is still what was frozen, and if
    /// every later change to it will be noticed.
    fn can_be_live(&self, frozen: &Frozen) -> bool {
        let looks = &frozen.looks;
        // An overlay cannot be written to at what belongs to others whom the process does not know.
        let is_writable = looks.is_own() || knows_everybody();
        frozen.is_there && looks.is_settled() && is_writable && !looks.is_small()
    }

    /// Several items may ask at a time; one makes the base, and the others wait for it.
    fn below(
        &self,
        apart: bool,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
    ) -> Result<Below, TreeError> {
        if !apart || self.isolation != Isolation::Overlay {
            return Ok(Below::Tree);
        }
        let _made_once = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let base = Base::of(self.place.path(), checkpoints, frozen)?;
        Ok(Below::Base(base))
    }

    /// What was there under the name goes first. The notes are written last, so that a copy whose making was
    /// interrupted has none and is not taken up.
    fn make_on(
        &self,
        below: Below,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
        name: &str,
    ) -> Result<TreeCopy, TreeError> {
        let dir = self.place.path().join(place::plain(name));
        place::remove_copy(&dir).map_err(TreeError::unmade(&dir))?;
        let mut copy = self.empty(dir, frozen, below)?;
        copy.fill(checkpoints, frozen)?;
        let note = |name: &str, text: &[u8]| {
            fs::write(copy.dir.join(name), text).map_err(TreeError::unmade(&copy.dir))
        };
        if !copy.is_live() {
            note(APART, b"")?;
        }
        if self.place.stays() {
            note(BOOT, &place::boot())?;
        }
        Ok(copy)
    }

    /// Takes up a copy that another process left, as it left it. Nothing where there is none, where the machine was
    /// started anew since, so that not all that was written may be there, or where copies are whole.
    pub fn take_up(
        &self,
        checkpoints: &Checkpoints,
        frozen: &Frozen,
        name: &str,
    ) -> Result<Option<TreeCopy>, TreeError> {
        let dir = self.place.path().join(place::plain(name));
        let left_at = fs::read(dir.join(BOOT)).unwrap_or_default();
        if self.isolation != Isolation::Overlay || left_at.is_empty() || left_at != place::boot() {
            return Ok(None);
        }
        let below = self.below(dir.join(APART).exists(), checkpoints, frozen)?;
        let mut copy = self.empty(dir, frozen, below)?;
        copy.mount(frozen)?;
        Ok(Some(copy))
    }

    /// Only directories; what is in it comes by mounting or copying.
    fn empty(&self, dir: PathBuf, frozen: &Frozen, below: Below) -> Result<TreeCopy, TreeError> {
        let merged = dir.join(MERGED);
        fs::create_dir_all(&merged).map_err(TreeError::unmade(&merged))?;
        Ok(TreeCopy {
            isolation: self.isolation,
            base: frozen.tree.clone(),
            known: Mutex::new(StatCache::new(0, vec![])),
            stays: self.place.stays(),
            below,
            git: vec![],
            dir,
            merged,
        })
    }

    /// Removes all copies now.
    pub fn remove(&self) -> Result<(), TreeError> {
        self.place.remove()
    }
}

/// Mounts an overlay over a tree in a directory that is not there yet, for a trial.
pub(super) fn try_mount_over(tree: &Path, dir: &Path) -> Result<(), String> {
    let merged = dir.join(MERGED);
    fs::create_dir_all(&merged).map_err(failed("make a directory"))?;
    overlay::mount_over(&[tree.to_owned()], dir, &merged)
}

/// What an overlay lies over.
///
/// Meaningful for overlays alone.
#[derive(Clone, Debug)]
enum Below {
    /// The tree itself.
    Tree,
    /// The tree as it was frozen.
    Base(Base),
}

/// What a work item has instead of the tree. It is removed when it is dropped, unless it is to stay.
#[derive(Debug)]
pub struct TreeCopy {
    isolation: Isolation,
    dir: PathBuf,
    merged: PathBuf,
    /// What it was made of; with what git keeps where that was copied.
    base: Tree,
    /// The files that are known already.
    known: Mutex<StatCache>,
    stays: bool,
    below: Below,
    /// What git keeps and is mounted by itself.
    git: Vec<PathBuf>,
}

/// What became of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Sorted by path.
    pub changes: Vec<Change>,
    /// What was changed of what git keeps, where somebody could. Not all paths are named if there are many.
    pub git: Vec<TreePath>,
}

impl TreeCopy {
    /// Whole copies are read once as they are, since that reading is what later ones are compared with.
    fn fill(&mut self, checkpoints: &Checkpoints, frozen: &Frozen) -> Result<(), TreeError> {
        if self.isolation == Isolation::Overlay {
            return self.mount(frozen);
        }
        let reflink = self.isolation == Isolation::Reflink;
        whole::copy(checkpoints, frozen, &self.merged, reflink)?;
        // Read once as it is: that is what changes are held against.
        std::thread::sleep(SETTLED);
        self.base = self.pass()?.tree.map_err(refused)?;
        Ok(())
    }

    /// A repository inside the tree is mounted by itself over the one that is really there, so that git works
    /// in the copy and what it writes stays in it.
    fn mount(&mut self, frozen: &Frozen) -> Result<(), TreeError> {
        let no_copy = |path: &Path, why| TreeError::NoCopy {
            path: path.to_owned(),
            why,
        };
        let base = match &self.below {
            Below::Base(base) => base,
            Below::Tree => {
                let tree = [frozen.root.clone()];
                let mounted = overlay::mount_over(&tree, &self.dir, &self.merged);
                return mounted.map_err(|why| no_copy(&self.merged, why));
            }
        };
        let mounted = overlay::mount_over(&base.layers(), &self.dir, &self.merged);
        mounted.map_err(|why| no_copy(&self.merged, why))?;
        self.git = base.git_directories(frozen);
        for (number, path) in self.git.iter().enumerate() {
            let (own, merged) = (self.git_dir(number), self.merged.join(path));
            let mounted = overlay::mount_over(&[frozen.root.join(path)], &own, &merged);
            mounted.map_err(|why| no_copy(&merged, why))?;
        }
        Ok(())
    }

    /// Where what is written to a mount of git's goes.
    fn git_dir(&self, number: usize) -> PathBuf {
        self.dir.join(format!("git-{number}"))
    }

    /// Whether the tree itself lies below it, and so whatever somebody changes there.
    pub fn is_live(&self) -> bool {
        self.isolation == Isolation::Overlay && matches!(self.below, Below::Tree)
    }

    /// Where the item works.
    pub fn path(&self) -> &Path {
        &self.merged
    }

    /// Where a path of the tree lies in the copy.
    pub fn path_of(&self, path: &TreePath) -> PathBuf {
        self.merged.join(as_path(path))
    }

    /// What is different now from the tree that was frozen, sorted by path. What was looked at before and is as it
    /// was is not read again.
    pub fn changes(&self) -> Result<Changed, TreeError> {
        let passed = self.pass()?;
        let tree = passed.tree.map_err(refused)?;
        let changes = self.base.changes_to(&tree);
        if self.isolation == Isolation::Overlay {
            let git = self.changed_git(passed.git);
            return Ok(Changed { changes, git });
        }
        let (git, changes): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_git);
        let git = git.into_iter().map(|change| change.path);
        Ok(Changed {
            changes,
            git: git.take(GIT_PATHS_MAX).collect(),
        })
    }

    /// What was written at and below what is named `.git`, which was found in the upper directory or has its own.
    fn changed_git(&self, found: Vec<Box<[u8]>>) -> Vec<TreePath> {
        let upper = self.dir.join(overlay::UPPER);
        let found = found.into_iter().flat_map(TreePath::new);
        let found = found.map(|path| (upper.join(as_path(&path)), path));
        let mounted = self.git.iter().enumerate().filter_map(|(number, path)| {
            let path = TreePath::new(path.as_os_str().as_encoded_bytes()).ok()?;
            Some((self.git_dir(number).join(overlay::UPPER), path))
        });
        git_paths(found.chain(mounted).collect())
    }

    /// The cache is the copy's own and is renewed by each look: a guard looks at every call.
    fn pass(&self) -> Result<PassResult, TreeError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let upper = self.own_files();
        let pass = match self.isolation {
            Isolation::Overlay => Pass::new(&upper, Extent::WithoutGit, None)?.over(&self.base),
            Isolation::Reflink | Isolation::Copy => Pass::new(&upper, Extent::Everything, None)?,
        };
        let passed = pass.run(&known);
        *known = known.renewed(passed.fresh.clone());
        Ok(passed)
    }

    /// Where what differs from the tree lies.
    fn own_files(&self) -> PathBuf {
        match self.isolation {
            Isolation::Overlay => self.dir.join(overlay::UPPER),
            Isolation::Reflink | Isolation::Copy => self.merged.clone(),
        }
    }

    /// Keeps the contents that changes end with.
    ///
    /// What is read must be what the changes say: a program that the item left running may still write.
    pub fn keep(&self, checkpoints: &Checkpoints, changes: &[Change]) -> Result<(), TreeError> {
        let root = self.own_files();
        let dir = File::open(&root).map_err(TreeError::unreadable(&root))?;
        let mut reader = FileReader::new(Some(checkpoints.objects()));
        for change in changes {
            let Some(Node::File { bytes, content, .. }) = change.after else {
                continue;
            };
            let path = self.merged.join(as_path(&change.path));
            match reader.read_beneath(&dir, as_path(&change.path), bytes) {
                ReadOutcome::Content(read) if read == content => {}
                ReadOutcome::Content(_) | ReadOutcome::Changed => {
                    return Err(TreeError::Busy { path });
                }
                ReadOutcome::Unreadable(source) => {
                    return Err(TreeError::Unreadable { path, source });
                }
                ReadOutcome::NotKept(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes the copy now, and tells if that fails.
    pub fn remove(self) -> Result<(), TreeError> {
        place::remove_copy(&self.dir).map_err(TreeError::unmade(&self.dir))
    }
}

impl Drop for TreeCopy {
    fn drop(&mut self) {
        if self.stays {
            overlay::unmount_from(&self.merged);
        } else {
            // Whoever comes next removes what is left.
            let _ = place::remove_copy(&self.dir);
        }
    }
}

fn as_path(path: &TreePath) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()))
}

fn is_git(change: &Change) -> bool {
    change.path.names().any(|name| name == b".git")
}

/// In a copy nobody but the item's own programs can have changed anything.
fn refused(fault: PassFault) -> TreeError {
    match fault {
        PassFault::Changed(path) => TreeError::Busy { path },
        PassFault::Refused(error) => error,
    }
}

/// The files at and below these places, which stand for paths: whatever is there was changed.
fn git_paths(mut left: Vec<(PathBuf, TreePath)>) -> Vec<TreePath> {
    let mut paths = vec![];
    while let Some((full, path)) = left.pop() {
        let entries = match full.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            true => fs::read_dir(&full).ok(),
            false => None,
        };
        match entries {
            None => paths.push(path),
            Some(entries) => left.extend(entries.flatten().filter_map(|entry| {
                let name = entry.file_name();
                let path = TreePath::child(Some(&path), name.as_encoded_bytes()).ok()?;
                Some((entry.path(), path))
            })),
        }
        if paths.len() == GIT_PATHS_MAX {
            break;
        }
    }
    paths.sort_unstable();
    paths
}
