//! The other names of a file that has several. Whoever writes to it writes to all of them, so they must all be seen.
//!
//! The number of names is known from the file itself, and the working directory is searched until all are
//! found. One that is not found lies outside, where nothing may be changed, and the call is refused. The search
//! is needed only for files with several names, which are rare.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};

use super::temp::OtherName;
use crate::beneath::{DIRECTORY, Links};
use crate::fault::{self, ToolFault};
use crate::file_tool::FileJob;
use crate::protected::Protected;

/// How many entries of the working directory are looked at.
///
/// Beyond it the names count as not found, so that a call on a huge tree is refused instead of taking for ever.
const ENTRIES_MAX: usize = 500_000;

/// All other names of a file. Refused where one of them is not found in the working directory, or is protected.
pub(super) fn others(
    job: &FileJob<'_>,
    own: &Path,
    stat: &Stat,
) -> Result<Vec<OtherName>, ToolFault> {
    let Some(wanted) = usize::try_from(stat.st_nlink)
        .ok()
        .and_then(|links| links.checked_sub(1))
        .filter(|others| *others > 0)
    else {
        return Ok(vec![]);
    };
    let mut hunt = Hunt {
        job,
        own,
        stat,
        found: Vec::new(),
        left: vec![PathBuf::new()],
        entries: 0,
    };
    while hunt.found.len() < wanted
        && hunt.entries < ENTRIES_MAX
        && let Some(dir) = hunt.left.pop()
    {
        job.cancel.check()?;
        // A directory that cannot be read has no name that we could keep.
        let opened = job
            .workdir
            .root()
            .open_real(&dir, DIRECTORY, Links::Refused);
        if let Ok((opened, _)) = opened {
            hunt.look(&dir, &opened)?;
        }
    }
    if hunt.found.len() < wanted {
        let message = format!(
            "{:?} has {} more names outside the working directory, which would be changed too; make a file \
             of its own first: copy it and move the copy here",
            own.display(),
            wanted - hunt.found.len(),
        );
        return Err(ToolFault::new(fault::HARD_LINKED, message));
    }
    Ok(hunt.found)
}

struct Hunt<'a> {
    job: &'a FileJob<'a>,
    own: &'a Path,
    stat: &'a Stat,
    found: Vec<OtherName>,
    left: Vec<PathBuf>,
    entries: usize,
}

impl Hunt<'_> {
    fn look(&mut self, dir: &Path, opened: &OwnedFd) -> Result<(), ToolFault> {
        for entry in Dir::read_from(opened).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            let path = || dir.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            let kind = match entry.file_type() {
                // Some file systems do not say what an entry is while listing.
                FileType::Unknown => statat(opened, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                kind => kind,
            };
            match kind {
                FileType::Directory => self.left.push(path()),
                FileType::RegularFile if entry.ino() == self.stat.st_ino => {
                    self.add(&path(), opened)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The number of an entry is unique only within its file system, so that the device is compared as well.
    /// Every name is judged as if it had been the one that was given.
    fn add(&mut self, path: &Path, opened: &OwnedFd) -> Result<(), ToolFault> {
        let Some(name) = path.file_name().filter(|_| path != self.own) else {
            return Ok(());
        };
        let is_same = statat(opened, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|now| (now.st_dev, now.st_ino) == (self.stat.st_dev, self.stat.st_ino));
        let (Ok(dir), true) = (opened.try_clone(), is_same) else {
            return Ok(());
        };
        let call = self.job.call;
        if let Some(protected) = Protected::by_path(path)
            && !call.approved()
        {
            let given = self.own.to_string_lossy();
            let why = format!("is also {:?}, which {protected}", path.display());
            return Err(ToolFault::protected(&given, why, call.tool()));
        }
        let shown = path.to_string_lossy();
        self.job.workdir.guard().check_write(path, call, &shown)?;
        self.found.push(OtherName {
            dir,
            name: name.to_owned(),
            path: path.to_owned(),
            stat: *self.stat,
        });
        Ok(())
    }
}
