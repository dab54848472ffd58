//! Removing a directory with everything in it, whatever a stranger put there.
//!
//! A copy holds what a model's programs left there: directories without rights, depths beyond the longest path,
//! links that lead elsewhere. No link is followed, and the number of open directories does not grow with the
//! depth.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, chmodat, fchmod, openat, unlinkat};
use rustix::io::Errno;

use super::stamp::{see, see_open};

const BUFFER_BYTES: usize = 32 * 1024;
const OWNER: u32 = 0o700;

/// Removes a directory, also one that is deeper than a path is long or that its owner may not write. One that is
/// not there is removed already.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let root = match open(CWD, path) {
        Ok(root) => root,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    empty(root)?;
    std::fs::remove_dir(path)
}

/// Goes down and up by one open directory: the depth is a stranger's choice.
fn empty(root: OwnedFd) -> rustix::io::Result<()> {
    let mut left = vec![unlink_files(&root)?];
    let mut open_now = root;
    let mut way: Vec<CString> = vec![];
    while let Some(directories) = left.last_mut() {
        if let Some(name) = directories.pop() {
            open_now = open(&open_now, &name)?;
            left.push(unlink_files(&open_now)?);
            way.push(name);
            continue;
        }
        left.pop();
        let Some(name) = way.pop() else {
            break;
        };
        open_now = open(&open_now, "..")?;
        unlinkat(&open_now, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Opens a directory and sees to it that it can be emptied.
fn open<P: rustix::path::Arg + Copy>(
    at: impl std::os::fd::AsFd,
    name: P,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(&at, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(&at, name, Mode::RWXU, AtFlags::empty())?;
            openat(at, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    if see_open(&opened)?.stamp.mode & OWNER != OWNER {
        fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

/// Removes all but the directories, which it returns.
///
/// What is no directory goes at once, whatever kind it is of.
fn unlink_files(dir: &OwnedFd) -> rustix::io::Result<Vec<CString>> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut names = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut directories = vec![];
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => see(dir, name)?.stamp.kind(),
            kind => kind,
        };
        match kind {
            FileType::Directory => directories.push(name.to_owned()),
            _ => unlinkat(dir, name, AtFlags::empty())?,
        }
    }
    Ok(directories)
}
