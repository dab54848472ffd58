//! What in a working directory configures programs that start later, found anew in little time.
//!
//! A directory whose stamp is as it was has the entries that it had, so that only those that were changed are read
//! again. Everything is reached from the top without following a link: a command that runs beside this cannot lead it
//! elsewhere.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_kernel::INERT;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, openat2, renameat_with,
    statat,
};
use rustix::io::Errno;

use super::stand_in;
use crate::protected::{BareLayout, configures, is_private};

/// How old a change must be before nothing later can have the same stamp. File systems take the time from a clock that
/// moves with the ticks, and on a busy machine those come late.
///
/// A directory that is younger than this when it is read is read again the next time, whatever its stamp says.
const TICK_NS: i128 = 1_000_000_000;

/// How often a new look is taken at what was put aside.
///
/// What is put aside may lay bare what was behind it, and a process that a command left running may make more.
/// A bound is needed, because such a process could go on for ever.
const ROUNDS_MAX: usize = 8;

/// Something that configures what starts later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Find {
    /// From the top.
    pub(super) path: PathBuf,
    pub(super) kind: FindKind,
    /// Of what lies there.
    ///
    /// The device and the number of the file: a file that was removed and made anew at the same path is another
    /// find.
    number: (u64, u64),
}

/// They are told apart because they are made inert differently: one by its own name, the other by the name of a
/// file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FindKind {
    /// Its name says so.
    Named,
    /// A directory that git takes for a repository by what is in it.
    Bare,
}

/// What was seen of the directories below a top.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    seen: HashMap<PathBuf, SeenDirectory>,
}

/// One directory as it was when it was read, without what lies deeper.
#[derive(Debug)]
struct SeenDirectory {
    stamp: Stamp,
    /// Whether it was changed so shortly before it was read that a later change may look the same.
    is_fresh: bool,
    /// The directories in it that are looked into. Those that configure something are finds as a whole and not
    /// entered.
    dirs: Vec<OsString>,
    finds: Vec<Find>,
}

/// A change of a directory's entries changes one of these, and nobody can set them back.
type Stamp = (u64, u64, i64, i64);

/// The time of the last change of the inode, and not that of the content: programs can set the latter as they
/// like.
fn stamp(it: &Stat) -> Stamp {
    (
        it.st_dev,
        it.st_ino,
        it.st_ctime,
        it.st_ctime_nsec.cast_signed(),
    )
}

/// A time in the future counts as fresh too, so that a clock that was set back costs time and misses nothing.
fn is_fresh(it: &Stat) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_nanos().cast_signed());
    let changed = i128::from(it.st_ctime) * 1_000_000_000 + i128::from(it.st_ctime_nsec);
    now - changed < TICK_NS
}

/// A working directory that is looked at.
///
/// It is held open, so that everything below is reached from the same directory even if somebody renames it.
#[derive(Debug)]
pub(super) struct Top {
    dir: File,
    path: PathBuf,
    homes: Vec<PathBuf>,
}

impl Top {
    /// What is private in one of the homes is none of a command's, and is not looked at.
    pub(super) fn open(path: &Path, homes: Vec<PathBuf>) -> io::Result<Self> {
        let dir = File::open(path)?;
        let path = path.to_owned();
        Ok(Self { dir, path, homes })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn is_private(&self, inside: &Path) -> bool {
        is_private(&self.path.join(inside), &self.homes, &self.path)
    }

    /// Opens a directory below the top. One that its owner may not read is made readable: what git could open by its
    /// name must be found.
    fn open_dir(&self, inside: &Path) -> rustix::io::Result<OwnedFd> {
        let inside = or_dot(inside);
        let open = |flags| {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat2(&self.dir, inside, flags, Mode::empty(), resolve)
        };
        open(OFlags::RDONLY).or_else(|error| {
            if error == Errno::ACCESS {
                let held = open(OFlags::PATH)?;
                make_usable(&held);
                return open(OFlags::RDONLY);
            }
            Err(error)
        })
    }
}

/// Through `/proc`, because a descriptor that was opened as a mere path takes no change of its mode. A failure
/// shows when the directory is opened again.
fn make_usable(dir: &OwnedFd) {
    let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
    // Who may not change it did not make it.
    if let Ok(metadata) = std::fs::metadata(&path) {
        let mode = metadata.permissions().mode() | 0o700;
        let _ = std::fs::set_permissions(&path, PermissionsExt::from_mode(mode));
    }
}

/// The top itself is the empty path, which the system does not take for a name.
fn or_dot(inside: &Path) -> &Path {
    match inside.as_os_str().is_empty() {
        true => Path::new("."),
        false => inside,
    }
}

impl Inventory {
    /// Everything that there is now.
    ///
    /// What was seen of directories that are gone is forgotten with this look, so that the memory that it takes
    /// follows the tree.
    pub(super) fn look(&mut self, top: &Top) -> BTreeSet<Find> {
        let mut finds = BTreeSet::new();
        let mut left = vec![PathBuf::new()];
        let mut met = HashMap::with_capacity(self.seen.len());
        while let Some(inside) = left.pop() {
            let Some(seen) = self.look_at(top, &inside) else {
                continue;
            };
            finds.extend(seen.finds.iter().cloned());
            left.extend(seen.dirs.iter().map(|name| inside.join(name)));
            met.insert(inside, seen);
        }
        self.seen = met;
        finds
    }

    /// A directory that is gone, or was never one, has nothing.
    fn look_at(&mut self, top: &Top, inside: &Path) -> Option<SeenDirectory> {
        let before = self.seen.remove(inside);
        let now = statat(&top.dir, or_dot(inside), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match before {
            Some(seen) if seen.stamp == stamp(&now) && !seen.is_fresh => Some(seen),
            _ => read(top, inside).ok(),
        }
    }
}

/// A repository without a work tree has no name that gives it away: it is known by the entries that git itself
/// looks for, which are gathered along the way.
fn read(top: &Top, inside: &Path) -> io::Result<SeenDirectory> {
    let dir = top.open_dir(inside)?;
    // Taken before the entries: what changes meanwhile is read again.
    let is = rustix::fs::fstat(&dir)?;
    let mut seen = SeenDirectory {
        stamp: stamp(&is),
        is_fresh: is_fresh(&is),
        dirs: vec![],
        finds: vec![],
    };
    let mut layout = BareLayout::default();
    for entry in Dir::read_from(&dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        layout.see(name);
        let path = inside.join(name);
        let is_private = top.is_private(&path);
        if configures(name) || is_private {
            // One that is gone again configures nothing, and neither does what stands in for one.
            if let Ok(it) = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                && !stand_in::is_one(&dir, name, &it)
            {
                let (kind, number) = (FindKind::Named, (it.st_dev, it.st_ino));
                seen.finds.push(Find { path, kind, number });
            }
        } else if is_dir(&dir, name, entry.file_type()) {
            seen.dirs.push(name.to_owned());
        }
    }
    if layout.is_whole() {
        seen.finds.push(Find {
            path: inside.to_owned(),
            kind: FindKind::Bare,
            number: (is.st_dev, is.st_ino),
        });
    }
    Ok(seen)
}

/// Not every file system tells what its entries are.
fn is_dir(dir: impl AsFd, name: &OsStr, listed: FileType) -> bool {
    match listed {
        FileType::Directory => true,
        FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode).is_dir()),
        _ => false,
    }
}

/// What was made inert: where it was, and where it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inert {
    pub(super) was: PathBuf,
    pub(super) is: PathBuf,
}

/// Renames whatever is there now and was not before, so that no program takes it for its configuration. `is_known` says
/// what was there.
pub(super) fn make_inert(
    top: &Top,
    inventory: &mut Inventory,
    is_known: impl Fn(&Find) -> bool,
) -> (Vec<Inert>, Vec<PathBuf>) {
    let (mut done, mut left) = (vec![], vec![]);
    for _ in 0..ROUNDS_MAX {
        let found = inventory.look(top);
        let new: Vec<Find> = found.into_iter().filter(|find| !is_known(find)).collect();
        left.clear();
        if new.is_empty() {
            break;
        }
        for find in new {
            match put_aside(top, &find) {
                Ok(inert) => done.push(inert),
                Err(_) => left.push(find.path),
            }
        }
    }
    (done, left)
}

/// A bare repository loses its `HEAD`, without which git does not take the directory for one; its other content
/// stays where it is. Nothing is ever deleted or replaced: a number is counted up until a free name is found.
fn put_aside(top: &Top, find: &Find) -> rustix::io::Result<Inert> {
    let (parent, name) = match find.kind {
        FindKind::Bare => (find.path.as_path(), OsStr::new("HEAD")),
        FindKind::Named => {
            let parent = find.path.parent().unwrap_or(Path::new(""));
            (parent, find.path.file_name().unwrap_or_default())
        }
    };
    let dir = top.open_dir(parent)?;
    make_usable(&dir);
    for number in 1.. {
        let aside = aside(name, number);
        match renameat_with(&dir, name, &dir, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                return Ok(Inert {
                    was: parent.join(name),
                    is: parent.join(aside),
                });
            }
        }
    }
    Err(Errno::EXIST)
}

/// A name that configures nothing.
fn aside(name: &OsStr, number: u64) -> OsString {
    let name = name.as_bytes();
    let bare = name.strip_prefix(b".").unwrap_or(name);
    // A name may not be longer than 255 bytes.
    let bare = &bare[..bare.len().min(200)];
    let aside = [INERT, bare, format!(".{number}").as_bytes()].concat();
    OsString::from_vec(aside)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        temp: tempfile::TempDir,
        inventory: Inventory,
    }

    impl Place {
        fn new() -> Self {
            Self {
                temp: tempfile::tempdir().expect("a temporary directory"),
                inventory: Inventory::default(),
            }
        }

        fn make(&self, path: &str) {
            let path = self.temp.path().join(path);
            let dir = path.parent().expect("it has a parent");
            fs::create_dir_all(dir).expect("it can be made");
            fs::write(path, "").expect("it can be written");
        }

        fn top(&self) -> Top {
            Top::open(self.temp.path(), vec![]).expect("it is there")
        }

        fn look(&mut self) -> Vec<String> {
            let found = self.inventory.look(&self.top());
            let found = found.iter().map(|find| find.path.display().to_string());
            found.collect()
        }
    }

    #[test]
    fn everything_that_configures_is_found_at_any_depth_and_again_when_it_comes_later() {
        let mut place = Place::new();
        for path in [
            ".git/config",
            "a/b/c/d/e/.git",
            "a/x.ai",
            "b/.ai-agent.json",
            "c/plain",
        ] {
            place.make(path);
        }
        let first = [".git", "a/b/c/d/e/.git", "a/x.ai", "b/.ai-agent.json"];
        assert_eq!(place.look(), first);
        assert_eq!(place.look(), first);
        for path in ["c/HEAD", "c/objects/x", "c/refs/x"] {
            place.make(path);
        }
        fs::remove_dir_all(place.temp.path().join("a/b")).expect("it can be removed");
        assert_eq!(place.look(), [".git", "a/x.ai", "b/.ai-agent.json", "c"]);
    }

    #[test]
    fn what_is_new_is_made_inert_and_what_was_there_stays() {
        let mut place = Place::new();
        for path in ["old/.git/config", "old.ai"] {
            place.make(path);
        }
        let top = place.top();
        let before = place.inventory.look(&top);
        for path in [
            "new/.git/HEAD",
            "new/.git/objects/x",
            "new/.git/refs/x",
            "new.ai",
        ] {
            place.make(path);
        }
        fs::create_dir(place.temp.path().join("blind")).expect("it can be made");
        place.make("blind/.ai-agent.json");
        let closed = PermissionsExt::from_mode(0o111);
        fs::set_permissions(place.temp.path().join("blind"), closed).expect("it is ours");
        let is_known = |find: &Find| before.contains(find);
        let (inert, left) = make_inert(&top, &mut place.inventory, is_known);
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(inert.len(), 4, "{inert:?}");
        assert_eq!(place.look(), ["old/.git", "old.ai"]);
        for path in [
            "new/inert-git.1/inert-HEAD.1",
            "inert-new.ai.1",
            "blind/inert-ai-agent.json.1",
        ] {
            assert!(place.temp.path().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn no_link_is_followed() {
        let mut place = Place::new();
        let elsewhere = Place::new();
        elsewhere.make("theirs/.git/config");
        let link = place.temp.path().join("link");
        std::os::unix::fs::symlink(elsewhere.temp.path(), link).expect("it can be made");
        assert!(place.look().is_empty());
    }
}
