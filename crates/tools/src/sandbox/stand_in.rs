//! What stands in for a `.git` that is not there, so that a command cannot make one.
//!
//! Only something that exists can be covered by a mount. So while commands run in a directory without a repository,
//! an empty directory takes its place: git passes it over, inside as well as outside. It is removed when the last
//! command has ended; whoever holds it has a shared lock on it, also in other processes.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, open,
    openat, statat, unlinkat,
};
use rustix::io::Errno;

pub(super) const GIT: &str = ".git";

/// Nobody makes a repository that nobody may write, so that one that a crash has left can be told from others.
const MODE: u32 = 0o555;
/// The right to write of anybody. A directory that somebody may write is a real one, and is let be.
const WRITABLE: u32 = 0o222;

/// How often a stand-in may be gone again before it is locked.
const TRIES: usize = 64;

/// Held while a command runs.
///
/// Dropping it gives the lock back and removes the directory if no other command holds it.
#[derive(Debug)]
pub(super) struct StandIn {
    dir: PathBuf,
    lock: File,
}

/// What is found in its place.
///
/// `Nothing` also where it was removed while its lock was waited for: the caller makes a new one.
enum Occupant {
    StandIn(File),
    SomethingElse,
    Nothing,
}

impl StandIn {
    /// Makes one, or shares the one that is there. `None` where there is a real `.git`.
    pub(super) fn in_dir(dir: &Path) -> io::Result<Option<Self>> {
        let path = dir.join(GIT);
        for _ in 0..TRIES {
            match DirBuilder::new().mode(MODE).create(&path) {
                Ok(()) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists => {}
                    // Who cannot make one need not be kept from it.
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                        return Ok(None);
                    }
                    _ => return Err(error),
                },
            }
            match hold(&path)? {
                Occupant::SomethingElse => return Ok(None),
                Occupant::Nothing => {}
                Occupant::StandIn(lock) => {
                    let dir = dir.to_owned();
                    return Ok(Some(Self { dir, lock }));
                }
            }
        }
        Err(io::Error::other(
            "another process keeps creating and removing .git",
        ))
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // Another command that runs has it still, or a person has made a repository of it.
        let _ = self.lock.unlock();
        remove_left(&self.dir);
    }
}

/// Removes the stand-in that a process left which died while a command ran, unless somebody holds it.
pub(super) fn remove_left(dir: &Path) {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = open(dir, flags, Mode::empty()) {
        remove_unused(dir);
    }
}

/// Whether an entry of a directory stands in for a repository, and is none.
///
/// `it` is what the caller was told of the entry. An empty directory that nobody may write is harmless even if
/// it was not made here.
pub(super) fn is_one(dir: impl AsFd, name: &OsStr, it: &Stat) -> bool {
    let is_dir = FileType::from_raw_mode(it.st_mode).is_dir();
    let is_empty = || {
        let opened = openat(&dir, name, AS_DIRECTORY, Mode::empty()).ok()?;
        let entries = Dir::read_from(&opened).ok()?.flatten();
        let own = |entry: &DirEntry| [&b"."[..], b".."].contains(&entry.file_name().to_bytes());
        Some(entries.filter(|entry| !own(entry)).count() == 0)
    };
    name == GIT && is_dir && it.st_mode & WRITABLE == 0 && is_empty() == Some(true)
}

const AS_DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Locks what is there, if it is a stand-in. While it is locked, nobody removes it.
///
/// The lock is taken before it is looked whether the directory is still there and empty, because a remover
/// takes the same lock exclusively. A link is something else and is not followed.
fn hold(path: &Path) -> io::Result<Occupant> {
    let file = match open(path, AS_DIRECTORY, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOENT) => return Ok(Occupant::Nothing),
        Err(_) => return Ok(Occupant::SomethingElse),
    };
    if file.metadata()?.mode() & WRITABLE != 0 {
        return Ok(Occupant::SomethingElse);
    }
    file.lock_shared()?;
    if !is_same(&file, path) {
        return Ok(Occupant::Nothing);
    }
    let is_empty = path.read_dir()?.next().is_none();
    Ok(match is_empty {
        true => Occupant::StandIn(file),
        false => Occupant::SomethingElse,
    })
}

/// Whether the path still leads to what was opened.
fn is_same(open: &File, path: &Path) -> bool {
    let number = |it: std::fs::Metadata| (it.dev(), it.ino());
    let there = path.symlink_metadata().map(number);
    open.metadata().map(number).ok() == there.ok()
}

/// Removes the stand-in of a directory, unless somebody holds it. Only an empty directory can be removed so.
pub(super) fn remove_unused(dir: impl AsFd) {
    if let Ok(stand_in) = openat(&dir, GIT, AS_DIRECTORY, Mode::empty())
        && fstat(&stand_in).is_ok_and(|it| it.st_mode & WRITABLE == 0)
        && flock(&stand_in, FlockOperation::NonBlockingLockExclusive).is_ok()
        && is_still_there(&stand_in, &dir)
    {
        let _ = unlinkat(&dir, GIT, AtFlags::REMOVEDIR);
    }
}

/// Between opening and locking, another may have removed it and a third made a new one, which is not ours to remove.
fn is_still_there(stand_in: impl AsFd, dir: impl AsFd) -> bool {
    let there = statat(dir, GIT, AtFlags::SYMLINK_NOFOLLOW);
    let number = |it: Stat| (it.st_dev, it.st_ino);
    there.is_ok_and(|it| fstat(stand_in).is_ok_and(|ours| number(ours) == number(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory")
    }

    fn stand_in(dir: &Path) -> Option<StandIn> {
        StandIn::in_dir(dir).expect("it can be made")
    }

    #[test]
    fn it_is_there_until_the_last_one_who_holds_it_lets_go() {
        let temp = place();
        let path = temp.path().join(GIT);
        let first = stand_in(temp.path()).expect("there is no other");
        let second = stand_in(temp.path()).expect("it is shared");
        drop(first);
        assert!(path.is_dir(), "the second has it still");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_crash_has_left_is_taken_over_and_removed() {
        let left = place();
        let path = left.path().join(GIT);
        DirBuilder::new()
            .mode(MODE)
            .create(&path)
            .expect("it can be made");
        drop(stand_in(left.path()).expect("it is taken over"));
        assert!(!path.exists());
    }

    #[test]
    fn what_a_crash_has_left_is_removed_unless_it_is_in_use_again() {
        let left = place();
        let path = left.path().join(GIT);
        let held = stand_in(left.path()).expect("there is no other");
        remove_left(left.path());
        assert!(path.is_dir(), "somebody holds it");
        drop(held);
        DirBuilder::new()
            .mode(MODE)
            .create(&path)
            .expect("it can be made");
        remove_left(left.path());
        assert!(!path.exists());
    }

    #[test]
    fn a_repository_and_whatever_else_a_person_made_stays() {
        type Make = fn(&Path);
        let makes: [Make; 4] = [
            |path| std::fs::create_dir(path).expect("it can be made"),
            |path| std::fs::write(path, "gitdir: elsewhere").expect("it can be written"),
            |path| std::os::unix::fs::symlink("elsewhere", path).expect("it can be made"),
            |path| {
                DirBuilder::new().create(path).expect("it can be made");
                std::fs::write(path.join("config"), "").expect("it can be written");
                let mode = std::os::unix::fs::PermissionsExt::from_mode(MODE);
                std::fs::set_permissions(path, mode).expect("it is ours");
            },
        ];
        for make in makes {
            let temp = place();
            let path = temp.path().join(GIT);
            make(&path);
            assert!(stand_in(temp.path()).is_none());
            assert!(path.symlink_metadata().is_ok());
        }
    }

    #[test]
    fn many_at_once_leave_nothing_and_never_lack_it() {
        let temp = place();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = stand_in(temp.path()).expect("it is there or is made");
                        assert!(is_same(&held.lock, &temp.path().join(GIT)));
                    }
                });
            }
        });
        assert!(!temp.path().join(GIT).exists());
    }
}
