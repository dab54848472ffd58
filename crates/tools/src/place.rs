//! Where a file is to be changed, and how: wholly or not at all, and never over another writer's change.
//!
//! The directory of the file is held open; whatever is renamed meanwhile, the file is made there. Writers of this
//! program take turns (`turn.rs` in this process, `lock.rs` between processes). Others take no turns, so what came out
//! of the place is looked at after the exchange, and put back where it is not what was seen before (`temp.rs`).

mod attributes;
mod lock;
mod names;
mod record;
mod temp;
mod turn;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use bonded_kernel::Invocation;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

use crate::beneath::{DIRECTORY, Links};
use crate::bounds::FILE_BYTES_MAX;
use crate::fault::{self, ToolFault};
use crate::file_tool::FileJob;
use crate::mark::mark;
use crate::protected::{Around, Identity, Protected, around, identity};
use crate::recording::{FileRights, NewContent};
use crate::workdir::{load, shown, size_of};
use temp::{OtherName, Put, Temp};
use turn::FileTurn;

pub use attributes::keep_attributes;
pub use temp::{is_unfinished, remove_unfinished};

/// How often a call begins again because the file was changed under its hands.
const TRIES_MAX: usize = 100;

/// The longest name that a file can have.
const NAME_BYTES_MAX: usize = 255;

/// The place of a file that may not exist yet: links are resolved, and it is neither outside the
/// working directory nor in a protected place.
pub(crate) struct Place<'a> {
    job: &'a FileJob<'a>,
    /// The deepest directory on the way that exists.
    base: OwnedFd,
    base_identity: Identity,
    /// The directories below `base` that have to be made.
    missing: Vec<OsString>,
    name: OsString,
    /// Relative to the working directory, without links.
    real: PathBuf,
    /// The same as the model is shown it.
    pub(crate) path: String,
}

/// A file as it was found, held so that no other call changes it.
pub(crate) struct HeldFile {
    file: File,
    stat: Stat,
    content: Option<Vec<u8>>,
}

/// What is to become of a file.
pub(crate) enum FileChange<T> {
    Nothing(T),
    Replace(Vec<u8>, T),
}

/// Replaces a file by what `decide` makes of it: a reader sees the old or the new, also after a crash. Where somebody
/// changed the file meanwhile, it is decided anew about what is there then.
pub(crate) fn update<T>(
    job: &FileJob<'_>,
    path: &str,
    mut decide: impl FnMut(&Place<'_>, Option<&mut HeldFile>) -> Result<FileChange<T>, ToolFault>,
) -> Result<T, ToolFault> {
    let mut place = Place::find(job, path)?;
    let _turn = place.turn()?;
    for _ in 0..TRIES_MAX {
        let mut seen = place.hold(OFlags::RDONLY)?;
        match decide(&place, seen.as_mut())? {
            FileChange::Nothing(value) => return Ok(value),
            FileChange::Replace(content, value) => match place.put(&content, seen.as_mut())? {
                Put::Done => return Ok(value),
                Put::Changed => place = Place::find(job, path)?,
            },
        }
    }
    Err(place.changed())
}

/// Adds to the end of a file, or makes it; gives what is in it then, and where it is.
pub(crate) fn extend(
    job: &FileJob<'_>,
    path: &str,
    added: &[u8],
) -> Result<(String, Vec<u8>), ToolFault> {
    let mut place = Place::find(job, path)?;
    let _turn = place.turn()?;
    for _ in 0..TRIES_MAX {
        match place.hold(OFlags::RDWR | OFlags::APPEND)? {
            Some(seen) => {
                let content = place.append(seen, added)?;
                return Ok((place.path, content));
            }
            None => match place.put(added, None)? {
                Put::Done => return Ok((place.path, added.to_vec())),
                Put::Changed => place = Place::find(job, path)?,
            },
        }
    }
    Err(place.changed())
}

impl HeldFile {
    pub(crate) fn size_bytes(&self) -> u64 {
        size_of(&self.stat)
    }

    /// The whole content; refused where there is more than a tool takes.
    pub(crate) fn content(&mut self, path: &str) -> Result<&[u8], ToolFault> {
        if self.content.is_none() {
            let loaded = load(&self.file, &self.stat, FILE_BYTES_MAX)
                .map_err(|error| ToolFault::from_io(&error, path))?;
            let too_large = || ToolFault::too_large(path, self.size_bytes(), FILE_BYTES_MAX);
            self.content = Some(loaded.ok_or_else(too_large)?);
        }
        Ok(self.content.as_deref().unwrap_or_default())
    }

    pub(crate) fn mark(&mut self, path: &str) -> Result<String, ToolFault> {
        Ok(mark(self.content(path)?))
    }
}

impl<'a> Place<'a> {
    /// The path is judged twice: as it was given and as it is without links, since either may name what is
    /// protected. A link to nothing is refused, because making its target would create a file that nobody
    /// named.
    fn find(job: &'a FileJob<'a>, path: &str) -> Result<Self, ToolFault> {
        let (workdir, call) = (job.workdir, job.call);
        let guard = workdir.guard();
        guard.refuse_read_only()?;
        let relative = workdir.relative(path)?;
        refuse_named(&relative, path, call)?;
        let end = workdir
            .root()
            .end_of(&relative, Links::Inside)
            .map_err(|error| ToolFault::from_open(error, path))?;
        let mut missing = end.left;
        let name = missing.pop().ok_or_else(|| ToolFault::is_directory(path))?;
        let parents: PathBuf = end.names.iter().chain(&missing).collect();
        let real = parents.join(&name);
        guard.check_write(&real, call, path)?;
        refuse_named(&real, path, call)?;
        refuse_long(&missing, path)?;
        let stat = fstat(&end.dir).map_err(|errno| ToolFault::from_io(&errno.into(), path))?;
        let found = Self {
            job,
            base: end.dir,
            base_identity: identity(&stat),
            missing,
            name,
            path: shown(&real),
            real,
        };
        found.refuse_repository(&found.base, found.base_identity, found.first_made())?;
        if end.by_link && !found.exists()? {
            let message = format!("{path:?} is a link to a file that does not exist");
            return Err(ToolFault::new(fault::NOT_FOUND, message));
        }
        Ok(found)
    }

    fn fail(&self, error: impl Into<io::Error>) -> ToolFault {
        ToolFault::from_io(&error.into(), &self.path)
    }

    /// The first name below `base` that has to be made, or that of the file.
    fn first_made(&self) -> &OsString {
        self.missing.first().unwrap_or(&self.name)
    }

    fn exists(&self) -> Result<bool, ToolFault> {
        match statat(&self.base, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(self.missing.is_empty()),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.fail(errno)),
        }
    }

    /// What git keeps is known by what it is, too: it may have another name, and a rename may have put it here.
    fn refuse_repository(
        &self,
        dir: &OwnedFd,
        dir_identity: Identity,
        coming: &OsString,
    ) -> Result<(), ToolFault> {
        let FileJob { workdir, call, .. } = self.job;
        let found = around(workdir.identity(), dir.as_fd(), dir_identity, coming);
        match found.map_err(|errno| self.fail(errno))? {
            Around::Nothing => Ok(()),
            Around::Repository if call.approved() => Ok(()),
            Around::Repository => Err(ToolFault::protected(
                &self.path,
                Protected::Repository,
                call.tool(),
            )),
            Around::Elsewhere => Err(ToolFault::outside(&self.path)),
        }
    }

    fn turn(&self) -> Result<FileTurn, ToolFault> {
        let below: PathBuf = self.missing.iter().chain([&self.name]).collect();
        FileTurn::take((self.base_identity, below), self.job.cancel)
    }

    /// The file as it is now, locked; `None` if there is none.
    ///
    /// Opened without waiting, or a pipe in the place would hold the call for ever. After the lock is had, the
    /// name is looked at again: whoever had the lock before may have exchanged the file.
    fn hold(&self, access: OFlags) -> Result<Option<HeldFile>, ToolFault> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        for _ in 0..TRIES_MAX {
            self.job.cancel.check()?;
            let file = match openat(&self.base, &self.name, flags, Mode::empty()) {
                Ok(file) => File::from(file),
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP) => return Err(self.changed()),
                Err(Errno::ISDIR) => return Err(ToolFault::is_directory(&self.path)),
                Err(Errno::NXIO) => return Err(ToolFault::not_a_file(&self.path)),
                Err(errno) => return Err(self.fail(errno)),
            };
            lock::take(&file, self.job.cancel)?;
            // Whoever had it before may have put another file in its place, or written to it.
            let stat = fstat(&file).map_err(|errno| self.fail(errno))?;
            self.refuse_special(&stat)?;
            if temp::is_named(&self.base, &self.name, &stat).map_err(|errno| self.fail(errno))? {
                return Ok(Some(HeldFile {
                    file,
                    stat,
                    content: None,
                }));
            }
        }
        Err(self.changed())
    }

    fn refuse_special(&self, stat: &Stat) -> Result<(), ToolFault> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(ToolFault::is_directory(&self.path)),
            _ => Err(ToolFault::not_a_file(&self.path)),
        }
    }

    /// A rename does not ask whether the file may be written, so this does.
    fn refuse_read_only(&self, seen: &HeldFile) -> Result<(), ToolFault> {
        if seen.stat.st_mode & 0o222 == 0 {
            let message = format!("{:?} is read-only", self.path);
            return Err(ToolFault::new(fault::PERMISSION_DENIED, message));
        }
        Ok(())
    }

    /// Puts a file with this content in the place, if what is there is still what was seen.
    fn put(&self, content: &[u8], mut seen: Option<&mut HeldFile>) -> Result<Put, ToolFault> {
        self.job.cancel.check()?;
        let others = match &seen {
            Some(seen) => {
                self.refuse_read_only(seen)?;
                names::others(self.job, &self.real, &seen.stat)?
            }
            None => vec![],
        };
        let whole = NewContent::Whole(content);
        let recording = self.record(seen.as_deref_mut(), whole, &others)?;
        let put = self.exchange(content, seen.as_deref(), &others)?;
        if let Some(recording) = recording {
            recording.end(put);
        }
        Ok(match put {
            Some(_) => Put::Done,
            None => Put::Changed,
        })
    }

    /// The rights of the file that is there then; `None` where somebody else changed what was there.
    fn exchange(
        &self,
        content: &[u8],
        seen: Option<&HeldFile>,
        others: &[OtherName],
    ) -> Result<Option<FileRights>, ToolFault> {
        let FileJob { call, cancel, .. } = self.job;
        let made = self.make_parents()?;
        let parent = made.as_ref().unwrap_or(&self.base);
        let mut temp = Temp::create(parent, &self.name, &call.key(), seen.is_none())
            .map_err(|error| self.fail(error))?;
        let fill = || {
            (&temp.file).write_all(content)?;
            if let Some(seen) = seen {
                attributes::keep(&seen.file, &seen.stat, &temp.file, &temp.stat)?;
            }
            temp.file.sync_all()?;
            Ok(FileRights::of(&fstat(&temp.file)?))
        };
        let rights = fill().map_err(|error: io::Error| self.fail(error))?;
        cancel.check()?;
        let put = match seen {
            None => temp.put_new(&self.name),
            Some(seen) => temp.exchange(&self.name, &seen.file, seen.content.as_deref()),
        };
        if put.map_err(|error| self.fail(error))? == Put::Changed {
            return Ok(None);
        }
        for other in others {
            temp.rename_too(&self.name, other)
                .map_err(|error| self.fail(error))?;
        }
        // What was replaced goes now, so that the time of the directory is that of its last change.
        drop(temp);
        sync_dir(parent).map_err(|error| self.fail(error))?;
        Ok(Some(rights))
    }

    /// Adds to the file in one write. What somebody else adds meanwhile stays; who replaces the file meanwhile is noticed.
    fn append(&self, mut seen: HeldFile, added: &[u8]) -> Result<Vec<u8>, ToolFault> {
        self.refuse_read_only(&seen)?;
        let others = names::others(self.job, &self.real, &seen.stat)?;
        let mut content = seen.content(&self.path)?.to_vec();
        let size_bytes = content.len() as u64 + added.len() as u64;
        // A file that grew past the limit could never be appended to again.
        if size_bytes > FILE_BYTES_MAX {
            return Err(ToolFault::too_large(&self.path, size_bytes, FILE_BYTES_MAX));
        }
        self.job.cancel.check()?;
        let recording = self.record(Some(&mut seen), NewContent::Added(added), &others)?;
        let before = content.len() as u64;
        let written = (&seen.file)
            .write(added)
            .map_err(|error| self.fail(error))?;
        if written < added.len() {
            // The disk is full. What somebody else added since is not cut off.
            let now = fstat(&seen.file).map_err(|errno| self.fail(errno))?;
            if size_of(&now) == before + written as u64 {
                seen.file
                    .set_len(before)
                    .map_err(|error| self.fail(error))?;
            }
            return Err(self.fail(io::Error::from(io::ErrorKind::StorageFull)));
        }
        seen.file.sync_data().map_err(|error| self.fail(error))?;
        let stat = fstat(&seen.file).map_err(|errno| self.fail(errno))?;
        let is_there = temp::is_named(&self.base, &self.name, &stat);
        if !is_there.map_err(|errno| self.fail(errno))? {
            let message = format!(
                "{:?} was replaced by another process meanwhile; read it to see whether the text is in it",
                self.path
            );
            return Err(ToolFault::new(fault::PRECONDITION_FAILED, message));
        }
        if let Some(recording) = recording {
            recording.end(Some(FileRights::of(&stat)));
        }
        content.extend_from_slice(added);
        if size_of(&stat) != content.len() as u64 {
            seen.file.rewind().map_err(|error| self.fail(error))?;
            seen.stat = stat;
            seen.content = None;
            content = seen.content(&self.path)?.to_vec();
        }
        Ok(content)
    }

    /// Makes the missing directories durable one by one, and opens the last; `None` where none is missing.
    fn make_parents(&self) -> Result<Option<OwnedFd>, ToolFault> {
        let mut made: Option<OwnedFd> = None;
        for name in &self.missing {
            let dir = made.as_ref().unwrap_or(&self.base);
            match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
                Err(errno) if errno != Errno::EXIST => return Err(self.fail(errno)),
                _ => {}
            }
            sync_dir(dir).map_err(|error| self.fail(error))?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below = openat(dir, name, flags, Mode::empty());
            made = Some(below.map_err(|errno| self.fail(errno))?);
        }
        if let Some(dir) = &made {
            let stat = fstat(dir).map_err(|errno| self.fail(errno))?;
            self.refuse_repository(dir, identity(&stat), &self.name)?;
        }
        Ok(made)
    }

    fn changed(&self) -> ToolFault {
        let message = format!(
            "{:?} was changed by another process meanwhile; read it again",
            self.path
        );
        ToolFault::new(fault::PRECONDITION_FAILED, message)
    }
}

fn refuse_named(path: &Path, given: &str, call: &Invocation) -> Result<(), ToolFault> {
    match Protected::by_path(path) {
        Some(protected) if !call.approved() => {
            Err(ToolFault::protected(given, protected, call.tool()))
        }
        _ => Ok(()),
    }
}

/// Told before any directory is made.
fn refuse_long(names: &[OsString], given: &str) -> Result<(), ToolFault> {
    match names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
        true => Err(ToolFault::from_io(&Errno::NAMETOOLONG.into(), given)),
        false => Ok(()),
    }
}

/// A directory that was opened to be walked through cannot be synced; its own entry gives a handle that can.
fn sync_dir(dir: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(openat(
        dir,
        ".",
        DIRECTORY,
        Mode::empty(),
    )?)?)
}

#[cfg(test)]
mod tests;
