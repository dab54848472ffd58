//! Scratch directories that were left: by a process that was killed together with whoever would have cleaned up after
//! it. The next one removes them. A directory that is used has a lock, which the system frees when its process dies.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, chmodat, flock, openat, unlinkat};
use rustix::process::getuid;

use super::{ENTRIES, PREFIX};

/// The file whose lock says that a directory is used.
pub(super) const HELD: &str = "held";

/// Deeper than any path can be followed by name.
const DEPTH_MAX: usize = 4_096;

/// Locks a directory that was just made. An error of kind `NotFound` where somebody took it for one that was left.
///
/// The number of the file is compared after locking: whoever sweeps may have removed it between its making and
/// its lock.
pub(super) fn hold(scratch: &Path) -> io::Result<File> {
    let path = scratch.join(HELD);
    let mut options = fs::OpenOptions::new();
    let held = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    flock(&held, FlockOperation::NonBlockingLockExclusive).map_err(|_| gone())?;
    match fs::symlink_metadata(&path)?.ino() == held.metadata()?.ino() {
        true => Ok(held),
        false => Err(gone()),
    }
}

/// Removes what nobody uses any more. Whatever cannot be looked at or removed is let be.
///
/// The lock of an abandoned directory is held while it is removed, so that two processes that sweep at once do
/// not meet in it.
pub(super) fn sweep(above: &Path) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && entry
                .metadata()
                .is_ok_and(|it| it.is_dir() && it.uid() == getuid().as_raw());
        if is_ours && let Some(_alone) = abandoned(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// The lock of a directory that nobody uses and that holds nothing but what is made here. One without a lock is
/// another program's, or that of an older version, which may be using it.
fn abandoned(scratch: &Path) -> Option<File> {
    let entries = fs::read_dir(scratch).ok()?;
    let is_known = |name: &OsStr| ENTRIES.iter().any(|known| name == *known);
    let mut names = entries.map_while(Result::ok).map(|entry| entry.file_name());
    if !names.all(|name| is_known(&name)) {
        return None;
    }
    let mut options = fs::OpenOptions::new();
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let held = options
        .read(true)
        .custom_flags(no_link)
        .open(scratch.join(HELD))
        .ok()?;
    if !held.metadata().ok()?.is_file() {
        return None;
    }
    flock(&held, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(held)
}

/// Removes a directory with everything in it, as far as it goes.
///
/// The ordinary way is tried first; it fails on directories without the right to write.
pub(super) fn remove(directory: &Path) {
    if fs::remove_dir_all(directory).is_ok() {
        return;
    }
    if let (Some(above), Some(name)) = (directory.parent(), directory.file_name())
        && let Ok(above) = File::open(above)
    {
        remove_beneath(&above, name);
    }
}

/// Removes what has this name in an open directory, with everything in it: by descriptors, without following links, and
/// also directories that nobody may write.
pub(in crate::sandbox) fn remove_beneath(above: impl AsFd, name: &OsStr) {
    remove_within(above, name, DEPTH_MAX);
}

/// A file or an empty directory goes at once. For any other, the names are read to the end before anything is
/// removed, because removing entries while they are read may skip some. `depth` bounds the recursion and the
/// open descriptors.
fn remove_within(above: impl AsFd, name: &OsStr, depth: usize) {
    let is_gone = unlinkat(&above, name, AtFlags::empty()).is_ok()
        || unlinkat(&above, name, AtFlags::REMOVEDIR).is_ok();
    if is_gone || depth == 0 {
        return;
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&above, name, flags | OFlags::RDONLY, Mode::empty());
    // Somebody who may not look into a directory of theirs may change that.
    let opened = open().or_else(|_| {
        let is_directory = openat(&above, name, flags | OFlags::PATH, Mode::empty()).is_ok();
        match is_directory {
            true => chmodat(&above, name, Mode::RWXU, AtFlags::empty()).and_then(|()| open()),
            false => open(),
        }
    });
    let Ok(directory) = opened else {
        return;
    };
    // One that may not be written is like any other from here on; where it cannot be changed, nothing is removed.
    let _as_it_was = rustix::fs::fchmod(&directory, Mode::RWXU);
    let names: Vec<_> = match Dir::read_from(&directory) {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_owned()))
            .filter(|name| ![&b"."[..], b".."].contains(&name.to_bytes()))
            .collect(),
        Err(_) => vec![],
    };
    for inner in names {
        remove_within(&directory, OsStr::from_bytes(inner.to_bytes()), depth - 1);
    }
    let _stays = unlinkat(&above, name, AtFlags::REMOVEDIR);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::sandbox::scratch::{ScratchDir, tmp};

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory can be made")
    }

    fn names(above: &Path) -> Vec<String> {
        let entries = fs::read_dir(above).expect("it can be read");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map_while(Result::ok).map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_left_is_removed_and_nothing_else_is() {
        let above = place();
        let used = ScratchDir::make_in(above.path()).expect("it can be made");
        let left = ScratchDir::make_in(above.path()).expect("it can be made");
        fs::create_dir_all(tmp(left.path()).join("deep/er")).expect("it can be made");
        fs::write(tmp(left.path()).join("deep/er/file"), "x").expect("it can be written");
        // As a process leaves it that is killed: the lock is free, and nothing was removed.
        let moved = above.path().join("bonded-moved");
        fs::rename(left.path(), &moved).expect("it can be moved");
        drop(left);
        for other in ["bonded-none/tmp", "bonded-more/held", "other/held"] {
            fs::create_dir_all(above.path().join(other)).expect("it can be made");
        }
        fs::write(above.path().join("bonded-file"), "x").expect("it can be written");
        sweep(above.path());
        let kept = used
            .path()
            .file_name()
            .map(|it| it.to_string_lossy().into_owned());
        let mut expected = vec![
            "bonded-file".to_owned(),
            "bonded-more".into(),
            "bonded-none".into(),
        ];
        expected.extend(kept);
        expected.push("other".into());
        expected.sort();
        assert_eq!(names(above.path()), expected);
    }

    #[test]
    fn everything_beneath_is_removed_and_no_link_is_followed() {
        let above = place();
        let outside = place();
        fs::write(outside.path().join("dear"), "x").expect("it can be written");
        let inner = above.path().join("gone/a/b");
        fs::create_dir_all(&inner).expect("it can be made");
        std::os::unix::fs::symlink(outside.path(), inner.join("link")).expect("a link");
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(&inner, closed).expect("it can be closed");
        let opened = File::open(above.path()).expect("it can be opened");
        remove_beneath(&opened, OsStr::new("gone"));
        assert_eq!(names(above.path()), [""; 0]);
        assert_eq!(names(outside.path()), ["dear"]);
    }
}
