//! What a file keeps when another takes its place.
//!
//! Replacing a file must look to others like writing to it. Owner, mode and attributes are copied before the
//! new file is in its place, so that it is never there with more rights than the old one had. What only the
//! system may set is left to it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;

use rustix::fs::{
    Gid, Mode, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, fstat,
};
use rustix::io::Errno;

/// As much as the kernel takes, for the list of names and for a value.
const BYTES_MAX: usize = 64 * 1024;

/// Whoever writes to a file takes these bits from it: they would lend the owner's rights to the new content.
const LENT_RIGHTS: u32 = 0o6000;

/// Gives a new file the owner, the mode and the extended attributes, access lists among them, of the one before, and no
/// others: a directory hands lists down to whatever is made in it.
pub(super) fn keep(from: &File, before: &Stat, to: &File, made: &Stat) -> io::Result<()> {
    let owner = (made.st_uid != before.st_uid).then(|| Uid::from_raw(before.st_uid));
    let group = (made.st_gid != before.st_gid).then(|| Gid::from_raw(before.st_gid));
    if owner.is_some() || group.is_some() {
        // Only root may give files away; another user's replacement is then his own, and of the same group if it can be.
        let given = fchown(to, owner, group);
        if given.is_err() && group.is_some() {
            let _ = fchown(to, None, group);
        }
    }
    let kept = names(from)?;
    for name in names(to)?.iter().filter(|name| !kept.contains(name)) {
        take_away(to, name)?;
    }
    // After the list is gone: with one, a part of the mode is what the list grants at most.
    fchmod(
        to,
        Mode::from_raw_mode(before.st_mode & 0o7777 & !LENT_RIGHTS),
    )?;
    for name in &kept {
        keep_one(from, to, name)?;
    }
    Ok(())
}

/// Gives a file the extended attributes and the owner of another one, and its mode without what lends rights.
pub fn keep_attributes(from: &File, to: &File) -> io::Result<()> {
    keep(from, &fstat(from)?, to, &fstat(to)?)
}

fn take_away(file: &File, name: &CStr) -> io::Result<()> {
    match fremovexattr(file, name) {
        Ok(()) | Err(Errno::NODATA) => Ok(()),
        Err(_) if is_of_the_system(name) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// None where the file system has no such attributes.
fn names(file: &File) -> io::Result<Vec<CString>> {
    // Most files have few names or none.
    let mut list = vec![0; 256];
    let size = loop {
        match flistxattr(file, list.as_mut_slice()) {
            Ok(size) => break size,
            Err(Errno::RANGE) if list.len() < BYTES_MAX => list.resize(BYTES_MAX, 0),
            Err(Errno::NOTSUP | Errno::NOSYS) => break 0,
            Err(errno) => return Err(errno.into()),
        }
    };
    let names = list.get(..size).unwrap_or_default();
    let names = names.split_inclusive(|byte| *byte == 0);
    Ok(names
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
        .map(CStr::to_owned)
        .collect())
}

fn keep_one(from: &File, to: &File, name: &CStr) -> io::Result<()> {
    let mut value = vec![0; BYTES_MAX];
    let size = match fgetxattr(from, name, value.as_mut_slice()) {
        Ok(size) => size,
        // It was taken away meanwhile, or is not for us to see.
        Err(Errno::NODATA | Errno::PERM | Errno::ACCESS) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let value = value.get(..size).unwrap_or_default();
    match fsetxattr(to, name, value, XattrFlags::empty()) {
        Ok(()) => Ok(()),
        // Those are the system's: what it does not let us set, it sets itself.
        Err(_) if is_of_the_system(name) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_of_the_system(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.starts_with(b"security.") || name.starts_with(b"trusted.")
}
