//! A new file beside its place, and how it gets there.
//!
//! A file that is replaced is never written to. The new one is made beside it, filled, made durable, and then
//! changes places with the old one in one step, which is the only way to see afterwards what was replaced. On
//! file systems that cannot exchange, there is a moment between looking and renaming in which somebody else's
//! change is lost.
//!
//! What a crash leaves is a file with a name that says so. It is removed when the call is repeated.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bonded_kernel::Hash;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock, fstat, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::workdir::{open_entry, size_of};

const UNFINISHED_BEGIN: &str = ".bonded-";
const UNFINISHED_END: &str = ".tmp";
/// 96 bits of a hash.
const UNFINISHED_DIGITS: usize = 24;

/// How many calls may be under way that would have the same name.
const NAMES_MAX: u32 = 100;

/// Whether a file tool that did not come to its end may have left a file of this name.
pub fn is_unfinished(name: &[u8]) -> bool {
    let name = name.strip_prefix(UNFINISHED_BEGIN.as_bytes());
    let digits = name.and_then(|name| name.strip_suffix(UNFINISHED_END.as_bytes()));
    digits.is_some_and(|digits| {
        digits.len() == UNFINISHED_DIGITS && digits.iter().all(u8::is_ascii_hexdigit)
    })
}

/// What became of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    /// Somebody else changed what is there; it is as they left it.
    Changed,
}

/// Another name of the file that is replaced.
pub(super) struct OtherName {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
    /// Relative to the working directory.
    pub(super) path: PathBuf,
    /// The file that has this name, before.
    pub(super) stat: Stat,
}

/// A new file beside its place, removed again unless it got there. It is locked as long as it is open, so that nobody
/// takes it for a leftover, and none changes it before all is done.
pub(super) struct Temp<'a> {
    dir: &'a OwnedFd,
    name: String,
    pub(super) file: File,
    /// As it was made.
    pub(super) stat: Stat,
    /// Whether there is still something under the temporary name to remove: the new file, or the old one after
    /// an exchange.
    is_left: bool,
}

impl<'a> Temp<'a> {
    /// The name depends on the call alone: what a crash left behind is taken over when the call is
    /// repeated, instead of piling up.
    pub(super) fn create(
        dir: &'a OwnedFd,
        target: &OsStr,
        key: &str,
        is_new: bool,
    ) -> io::Result<Self> {
        // What replaces a file is nobody's to read before it has that file's mode.
        let mode = Mode::from_raw_mode(if is_new { 0o666 } else { 0o600 });
        for number in 0..NAMES_MAX {
            let name = name_of(target, key, number);
            // Twice, because what is in the way may be a leftover.
            for _ in 0..2 {
                if let Some((file, stat)) = create_locked(dir, &name, mode)? {
                    return Ok(Self {
                        dir,
                        name,
                        file,
                        stat,
                        is_left: true,
                    });
                }
                remove_leftover(dir, &name)?;
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Takes a place where nothing is.
    pub(super) fn put_new(&mut self, target: &OsStr) -> io::Result<Put> {
        let (dir, name) = (self.dir, self.name.as_str());
        let put = match renameat_with(dir, name, dir, target, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                // A second name fails just as well where there is one.
                linkat(dir, name, dir, target, AtFlags::empty())
                    .and_then(|()| unlinkat(dir, name, AtFlags::empty()))
            }
            put => put,
        };
        match put {
            Ok(()) => {
                self.is_left = false;
                Ok(Put::Done)
            }
            Err(Errno::EXIST) => Ok(Put::Changed),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Changes places with the file that was seen. If what comes out is not that file, or has other content, it is put
    /// back.
    pub(super) fn exchange(
        &mut self,
        target: &OsStr,
        seen: &File,
        content: Option<&[u8]>,
    ) -> io::Result<Put> {
        let (dir, name) = (self.dir, self.name.as_str());
        match renameat_with(dir, name, dir, target, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Put::Changed),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return self.rename_over(target, seen, content);
            }
            Err(errno) => return Err(errno.into()),
        }
        if is_seen(dir, OsStr::new(name), seen, content)? {
            // What is left under our name now is the old file, which nobody needs.
            return Ok(Put::Done);
        }
        self.put_back(target)?;
        Ok(Put::Changed)
    }

    /// It goes on until what comes out of the place is our own file: everything else that comes out was put
    /// there by somebody, and the newest of it belongs there.
    fn put_back(&self, target: &OsStr) -> io::Result<()> {
        let (dir, name) = (self.dir, self.name.as_str());
        loop {
            match renameat_with(dir, name, dir, target, RenameFlags::EXCHANGE) {
                Ok(()) => {}
                // Ours was removed; theirs was there before.
                Err(Errno::NOENT) => {
                    let _ = renameat_with(dir, name, dir, target, RenameFlags::NOREPLACE);
                    return Ok(());
                }
                Err(errno) => return Err(errno.into()),
            }
            if is_named(dir, OsStr::new(name), &self.stat)? {
                return Ok(());
            }
            // Ours had been replaced by a newer one of theirs, which belongs there.
        }
    }

    /// For file systems that cannot exchange: looks first, then renames.
    fn rename_over(
        &mut self,
        target: &OsStr,
        seen: &File,
        content: Option<&[u8]>,
    ) -> io::Result<Put> {
        if !is_seen(self.dir, target, seen, content)? {
            return Ok(Put::Changed);
        }
        renameat(self.dir, self.name.as_str(), self.dir, target)?;
        self.is_left = false;
        Ok(Put::Done)
    }

    /// Gives the new file, which has `target` for a name by now, another name of the old one too.
    ///
    /// A name that has become another file meanwhile is let be. A crash between two names leaves them as two
    /// files, of which each is whole.
    pub(super) fn rename_too(&self, target: &OsStr, other: &OtherName) -> io::Result<()> {
        if !is_named(&other.dir, &other.name, &other.stat)? {
            return Ok(());
        }
        let beside = name_of(&other.name, &self.name, 0);
        let _ = unlinkat(&other.dir, beside.as_str(), AtFlags::empty());
        linkat(
            self.dir,
            target,
            &other.dir,
            beside.as_str(),
            AtFlags::empty(),
        )?;
        renameat(&other.dir, beside.as_str(), &other.dir, &other.name)?;
        super::sync_dir(&other.dir)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.is_left {
            // A leftover harms nobody, and the fault that led here is the one to report.
            let _ = unlinkat(self.dir, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// The number is for calls of the same key that are under way at once.
fn name_of(target: &OsStr, key: &str, number: u32) -> String {
    let number = match number {
        0 => String::new(),
        number => number.to_string(),
    };
    let seed = [
        key.as_bytes(),
        b"\0",
        target.as_encoded_bytes(),
        number.as_bytes(),
    ];
    let digits = &Hash::of(&seed.concat()).to_string()[..UNFINISHED_DIGITS];
    format!("{UNFINISHED_BEGIN}{digits}{UNFINISHED_END}")
}

/// Makes a file and locks it; `None` where there is one, or where it was taken for a leftover before it was locked.
fn create_locked(dir: &OwnedFd, name: &str, mode: Mode) -> io::Result<Option<(File, Stat)>> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = match openat(dir, name, flags, mode) {
        Ok(file) => File::from(file),
        Err(Errno::EXIST) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let stat = fstat(&file)?;
    let is_ours = is_named(dir, OsStr::new(name), &stat)?;
    Ok(is_ours.then_some((file, stat)))
}

/// The name that the unfinished file of a call has, unless another such call is under way.
pub(super) fn first_name(target: &OsStr, key: &str) -> String {
    name_of(target, key, 0)
}

/// Removes what a file tool that was killed left behind under this name, and nothing else.
pub fn remove_unfinished(dir: impl AsFd, name: &OsStr) -> io::Result<()> {
    match name.to_str().filter(|it| is_unfinished(it.as_bytes())) {
        Some(name) => remove_leftover(&dir.as_fd().try_clone_to_owned()?, name),
        None => Ok(()),
    }
}

/// Removes a file that nobody holds: the process that made it has ended.
fn remove_leftover(dir: &OwnedFd, name: &str) -> io::Result<()> {
    let Ok(Some((file, stat))) = open_entry(dir, Path::new(name)) else {
        return Ok(());
    };
    let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if is_free && is_named(dir, OsStr::new(name), &stat)? {
        let _ = unlinkat(dir, name, AtFlags::empty());
    }
    Ok(())
}

/// Whether a file has this name in a directory.
pub(super) fn is_named(dir: &OwnedFd, name: &OsStr, stat: &Stat) -> Result<bool, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Ok((now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Whether a name is the file that was seen and, where its content was read, whether it still has that.
fn is_seen(dir: &OwnedFd, name: &OsStr, seen: &File, content: Option<&[u8]>) -> io::Result<bool> {
    let stat = fstat(seen)?;
    if !is_named(dir, name, &stat)? {
        return Ok(false);
    }
    let Some(content) = content else {
        return Ok(true);
    };
    Ok(size_of(&stat) == content.len() as u64 && begins_with(seen, content)?)
}

/// By position, so that the file's own is not moved, and piece by piece, so that a large file is not read into
/// memory again.
fn begins_with(file: &File, content: &[u8]) -> io::Result<bool> {
    let mut chunk = [0; 16 * 1024];
    let mut at = 0;
    while at < content.len() {
        let wanted = chunk.len().min(content.len() - at);
        let count = match file.read_at(&mut chunk[..wanted], at as u64) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 || chunk[..count] != content[at..at + count] {
            return Ok(false);
        }
        at += count;
    }
    Ok(true)
}
