//! Where a file is to be changed, and how it is replaced: wholly or not at all.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use bonded_kernel::Hash;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions};
use rustix::fs::{Gid, Uid};

use crate::bounds::FILE_BYTES_MAX;
use crate::fault::{self, ToolFault};
use crate::mark::mark;
use crate::task::Cancel;
use crate::workdir::{Follow, Workdir, load, open_regular, shown};

/// The place of a file that may not exist yet: links are resolved, and it is neither outside the
/// working directory nor inside a `.git`.
pub(crate) struct Place {
    /// The deepest directory on the way that exists.
    base: Dir,
    /// The directories below `base` that have to be made.
    missing: Vec<OsString>,
    name: OsString,
    /// Relative to the working directory, as the model is shown it.
    pub(crate) path: String,
}

/// A file as it was when it was read.
pub(crate) struct Current {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metadata: Metadata,
}

impl Current {
    pub(crate) fn mark(&self) -> String {
        mark(&self.bytes)
    }
}

impl Place {
    pub(crate) fn find(workdir: &Workdir, path: &str) -> Result<Self, ToolFault> {
        let relative = workdir.relative(path)?;
        refuse_protected(&relative, path)?;
        let dir = workdir.dir();
        let (existing, missing) = match dir.canonicalize(&relative) {
            Ok(real) => split_name(&real, path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing_part(dir, &relative, path)?
            }
            Err(error) => return Err(ToolFault::from_io(&error, path)),
        };
        let real = existing.join(missing.iter().collect::<PathBuf>());
        refuse_protected(&real, path)?;
        let base = dir
            .open_dir(&existing)
            .map_err(|error| ToolFault::from_io(&error, path))?;
        let mut missing = missing;
        let name = missing.pop().ok_or_else(|| ToolFault::is_directory(path))?;
        let real = real.strip_prefix(".").unwrap_or(&real);
        Ok(Self {
            base,
            missing,
            name,
            path: shown(real),
        })
    }

    /// The file as it is now, opened; `None` if there is none.
    pub(crate) fn open(&self) -> Result<Option<(File, Metadata)>, ToolFault> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match open_regular(&self.base, self.name.as_ref(), Follow::No, &self.path) {
            Ok(opened) => Ok(Some(opened)),
            Err(fault) if fault.code == fault::NOT_FOUND => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The whole file as it is now; `None` if there is none.
    pub(crate) fn current(&self) -> Result<Option<Current>, ToolFault> {
        let Some((mut file, metadata)) = self.open()? else {
            return Ok(None);
        };
        let bytes = load(&mut file, &metadata, FILE_BYTES_MAX)
            .map_err(|error| ToolFault::from_io(&error, &self.path))?
            .ok_or_else(|| ToolFault::too_large(&self.path, metadata.len(), FILE_BYTES_MAX))?;
        Ok(Some(Current { bytes, metadata }))
    }

    /// Replaces the file by `content`: a reader sees the old or the new, also after a crash. `before` is
    /// what the caller has seen there; if it is another file by now, nothing is changed.
    pub(crate) fn replace(
        &self,
        content: &[u8],
        before: Option<&Metadata>,
        key: &str,
        cancel: &Cancel,
    ) -> Result<(), ToolFault> {
        if let Some(before) = before {
            self.refuse_read_only(before)?;
        }
        let on_path = |error: io::Error| ToolFault::from_io(&error, &self.path);
        cancel.check()?;
        let parent = self.make_parents().map_err(on_path)?;
        let mut temp = Temp::create(&parent, &self.name, key).map_err(on_path)?;
        temp.file.write_all(content).map_err(on_path)?;
        if let Some(before) = before {
            keep_owner_and_mode(&temp.file, before).map_err(on_path)?;
        }
        temp.file.sync_all().map_err(on_path)?;
        self.refuse_changed(&parent, before)?;
        cancel.check()?;
        temp.rename(&self.name).map_err(on_path)?;
        sync_dir(&parent).map_err(on_path)
    }

    /// Makes the missing directories durable one by one, and opens the last.
    fn make_parents(&self) -> io::Result<Dir> {
        let mut dir = self.base.try_clone()?;
        for name in &self.missing {
            match dir.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            sync_dir(&dir)?;
            dir = dir.open_dir(name)?;
        }
        Ok(dir)
    }

    /// A rename does not ask whether the file may be written, so this does.
    fn refuse_read_only(&self, before: &Metadata) -> Result<(), ToolFault> {
        if before.mode() & 0o222 == 0 {
            let message = format!("{:?} is read-only", self.path);
            return Err(ToolFault::new(fault::PERMISSION_DENIED, message));
        }
        Ok(())
    }

    fn refuse_changed(&self, parent: &Dir, before: Option<&Metadata>) -> Result<(), ToolFault> {
        let now = match parent.symlink_metadata(&self.name) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(ToolFault::from_io(&error, &self.path)),
        };
        if now.as_ref().map(identity) == before.map(identity) {
            return Ok(());
        }
        let message = format!(
            "{:?} was changed by another process meanwhile; read it again",
            self.path
        );
        Err(ToolFault::new(fault::PRECONDITION_FAILED, message))
    }
}

/// What tells a file from one that was put in its place or written to.
fn identity(metadata: &Metadata) -> (u64, u64, u64, i64, i64) {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

/// Splits an existing path into its directory and its name.
fn split_name(real: &Path, path: &str) -> Result<(PathBuf, Vec<OsString>), ToolFault> {
    let name = real.file_name().map(OsStr::to_owned);
    let name = name.ok_or_else(|| ToolFault::is_directory(path))?;
    let parent = match real.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    Ok((parent, vec![name]))
}

/// Splits a path that does not exist into its deepest existing directory and the names below that.
fn missing_part(
    dir: &Dir,
    relative: &Path,
    path: &str,
) -> Result<(PathBuf, Vec<OsString>), ToolFault> {
    let is_link = dir
        .symlink_metadata(relative)
        .is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        let message = format!("{path:?} is a link to a file that does not exist");
        return Err(ToolFault::new(fault::NOT_FOUND, message));
    }
    let mut names = Vec::new();
    let mut rest = relative;
    loop {
        let Some(Component::Normal(name)) = rest.components().next_back() else {
            let message = format!("{path:?} goes up from a directory that does not exist");
            return Err(ToolFault::new(fault::NOT_FOUND, message));
        };
        names.insert(0, name.to_owned());
        rest = match rest.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => return Ok((".".into(), names)),
        };
        match dir.canonicalize(rest) {
            Ok(real) => return Ok((real, names)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ToolFault::from_io(&error, path)),
        }
    }
}

/// The history of a repository is not a file to edit: a hook written there would run unasked.
fn refuse_protected(path: &Path, shown: &str) -> Result<(), ToolFault> {
    let protected = path
        .components()
        .any(|component| component.as_os_str().eq_ignore_ascii_case(".git"));
    if protected {
        let message = format!("{shown:?} lies inside .git, which the file tools do not change");
        return Err(ToolFault::new(fault::PROTECTED, message));
    }
    Ok(())
}

fn keep_owner_and_mode(file: &File, before: &Metadata) -> io::Result<()> {
    let made = file.metadata()?;
    if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
        let (owner, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
        // Only root may give files away; another user's replacement is then simply his own.
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    file.set_permissions(before.permissions())
}

/// `Dir` is opened without the right to sync; its own entry gives a handle that can.
fn sync_dir(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

const UNFINISHED_BEGIN: &str = ".bonded-";
const UNFINISHED_END: &str = ".tmp";
const UNFINISHED_DIGITS: usize = 24;

/// Whether a file tool that did not come to its end may have left a file of this name.
pub fn is_unfinished(name: &[u8]) -> bool {
    let name = name.strip_prefix(UNFINISHED_BEGIN.as_bytes());
    let digits = name.and_then(|name| name.strip_suffix(UNFINISHED_END.as_bytes()));
    digits.is_some_and(|digits| {
        digits.len() == UNFINISHED_DIGITS && digits.iter().all(u8::is_ascii_hexdigit)
    })
}

/// A new file beside its target, removed again unless it was renamed.
struct Temp<'a> {
    dir: &'a Dir,
    name: String,
    file: File,
    renamed: bool,
}

impl<'a> Temp<'a> {
    /// The name depends on the call alone: what a crash left behind is taken over when the call is
    /// repeated, instead of piling up.
    fn create(dir: &'a Dir, target: &OsStr, key: &str) -> io::Result<Self> {
        let seed = [key.as_bytes(), b"\0", target.as_encoded_bytes()].concat();
        let digits = &Hash::of(&seed).to_string()[..UNFINISHED_DIGITS];
        let name = format!("{UNFINISHED_BEGIN}{digits}{UNFINISHED_END}");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = match dir.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove_file(&name)?;
                dir.open_with(&name, &options)?
            }
            opened => opened?,
        };
        Ok(Self {
            dir,
            name,
            file,
            renamed: false,
        })
    }

    fn rename(&mut self, target: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // A leftover harms nobody, and the fault that led here is the one to report.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<OsString> {
        let entries = std::fs::read_dir(dir).expect("it can be listed");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_replaced() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let file = temp.path().join("a");
        std::fs::write(&file, "old").expect("it can be written");
        let workdir = Workdir::open(temp.path()).expect("it can be opened");
        let place = Place::find(&workdir, "a").expect("it is inside");
        let current = place.current().expect("it can be read").expect("it exists");
        std::fs::write(&file, "changed").expect("it can be written");
        let fault = place
            .replace(b"new", Some(&current.metadata), "key", &Cancel::default())
            .expect_err("it changed");
        assert_eq!(fault.code, fault::PRECONDITION_FAILED);
        let fault = place
            .replace(b"new", None, "key", &Cancel::default())
            .expect_err("it came into being");
        assert_eq!(fault.code, fault::PRECONDITION_FAILED);
        assert_eq!(std::fs::read(&file).expect("it is there"), b"changed");
        assert_eq!(names(temp.path()), ["a"]);
    }

    #[test]
    fn a_cancelled_replacement_changes_nothing() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let workdir = Workdir::open(temp.path()).expect("it can be opened");
        let place = Place::find(&workdir, "deep/er/a").expect("it is inside");
        let fault = place
            .replace(b"new", None, "key", &Cancel::cancelled())
            .expect_err("it was cancelled");
        assert_eq!(fault.code, fault::CANCELLED);
        assert!(names(temp.path()).is_empty());
    }

    #[test]
    fn what_a_crash_left_behind_is_taken_over_when_the_call_is_repeated() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let workdir = Workdir::open(temp.path()).expect("it can be opened");
        let left = Temp::create(workdir.dir(), "a".as_ref(), "key").expect("it can be made");
        std::mem::forget(left);
        assert_eq!(names(temp.path()).len(), 1);
        let place = Place::find(&workdir, "a").expect("it is inside");
        place
            .replace(b"new", None, "key", &Cancel::default())
            .expect("it is replaced");
        assert_eq!(names(temp.path()), ["a"]);
    }
}
