//! The working directory as a capability: what the file tools can reach, and nothing else.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::Invocation;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};

use crate::ToolsError;
use crate::beneath::{DIRECTORY, Links, Root};
use crate::fault::{self, ToolFault};
use crate::guard::Guard;
use crate::protected::{Identity, identity};
use crate::recording::ChangeRecorder;
use crate::sandbox::SandboxPolicy;

/// What calls share that look at files of the working directory or change them.
pub(crate) const FILES: &str = "files";

/// An open directory. Paths are resolved beneath it by the operating system, so that neither a link nor
/// a rename in the middle of a call leads out. A link with an absolute target is refused even where the
/// target lies inside.
#[derive(Debug)]
pub struct Workdir {
    root: Root,
    identity: Identity,
    dir: Dir,
    /// The absolute spellings of the directory that a caller may put before a path; the last is the real one.
    spellings: [PathBuf; 2],
    guard: Guard,
    recorder: Option<Recorder>,
}

/// Whoever is told of changes.
#[derive(Clone)]
struct Recorder(Arc<dyn ChangeRecorder>);

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Workdir {
    /// Holds the directory open: whatever is renamed on the way to it later, tools work in this one.
    pub fn open(dir: &Path) -> Result<Self, ToolsError> {
        let open = || {
            let canonical = dir.canonicalize()?;
            Ok((
                Dir::open_ambient_dir(&canonical, ambient_authority())?,
                [std::path::absolute(dir)?, canonical],
            ))
        };
        let (opened, spellings) = open().map_err(|source| ToolsError::OpenDirectory {
            path: dir.into(),
            source,
        })?;
        let root = Root::open(&spellings[1]).map_err(|error| ToolsError::OpenDirectory {
            path: dir.into(),
            source: io::Error::other(error),
        })?;
        let stat = fstat(&root).map_err(|errno| ToolsError::OpenDirectory {
            path: dir.into(),
            source: errno.into(),
        })?;
        Ok(Self {
            root,
            identity: identity(&stat),
            dir: opened,
            spellings,
            guard: Guard::default(),
            recorder: None,
        })
    }

    /// The same directory; what file tools change in it is told to the recorder before.
    #[must_use]
    pub fn recorded_by(mut self, recorder: Arc<dyn ChangeRecorder>) -> Self {
        self.recorder = Some(Recorder(recorder));
        self
    }

    pub(crate) fn recorder(&self) -> Option<&dyn ChangeRecorder> {
        self.recorder.as_ref().map(|recorder| &*recorder.0)
    }

    /// The same directory, in which the file tools do no more than commands may.
    #[must_use]
    pub(crate) fn under(mut self, policy: &SandboxPolicy) -> Self {
        self.guard = Guard::new(&self.spellings, policy);
        self
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Without links, absolute.
    pub(crate) fn real(&self) -> &Path {
        &self.spellings[1]
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Which directory it is, whatever its path is by now.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Opens a regular file for reading; gives its real path too.
    pub(crate) fn file<'p>(
        &self,
        relative: &'p Path,
        call: &Invocation,
        given: &str,
    ) -> Result<(File, Stat, Cow<'p, Path>), ToolFault> {
        let opened = self.root.regular(relative, Links::Inside);
        let (file, stat, real) = opened.map_err(|error| ToolFault::from_open(error, given))?;
        self.guard.check_read(&real, call, given)?;
        Ok((file, stat, real))
    }

    /// Opens a directory to list it; gives its real path too.
    pub(crate) fn directory<'p>(
        &self,
        relative: &'p Path,
        call: &Invocation,
        given: &str,
    ) -> Result<(OwnedFd, Cow<'p, Path>), ToolFault> {
        let opened = self.root.open_real(relative, DIRECTORY, Links::Inside);
        let (dir, real) = opened.map_err(|error| ToolFault::from_open(error, given))?;
        self.guard.check_read(&real, call, given)?;
        Ok((dir, real))
    }

    /// The path relative to this directory, without `.`; refused if it leads out by its own spelling.
    /// Links in it are not looked at: opening it does that.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, ToolFault> {
        if path.is_empty() || path.contains('\0') {
            let message = format!("{path:?} is not a path; use \".\" for the working directory");
            return Err(ToolFault::new(fault::BAD_PATH, message));
        }
        let given = Path::new(path);
        let inside = if given.is_absolute() {
            self.spellings
                .iter()
                .find_map(|root| given.strip_prefix(root).ok())
                .ok_or_else(|| ToolFault::outside(path))?
        } else {
            given
        };
        let mut relative = PathBuf::new();
        let mut depth = 0_usize;
        for component in inside.components() {
            depth = match component {
                Component::CurDir => continue,
                Component::Normal(_) => depth + 1,
                Component::ParentDir => depth
                    .checked_sub(1)
                    .ok_or_else(|| ToolFault::outside(path))?,
                Component::RootDir | Component::Prefix(_) => return Err(ToolFault::outside(path)),
            };
            relative.push(component);
        }
        if relative.as_os_str().is_empty() {
            relative.push(".");
        }
        Ok(relative)
    }
}

/// Opens a directory in another one. A link that was put in its place meanwhile is not followed.
pub(crate) fn enter(dir: &OwnedFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = DIRECTORY | OFlags::NOFOLLOW;
    Ok(openat(dir, name, flags, Mode::empty())?)
}

/// Opens a regular file in a directory, never by a link and never waiting; `None` where it is anything else.
pub(crate) fn open_entry(dir: &OwnedFd, name: &Path) -> io::Result<Option<(File, Stat)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(dir, name, flags | OFlags::CLOEXEC, Mode::empty())?;
    let stat = fstat(&file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    Ok(is_file.then(|| (file.into(), stat)))
}

pub(crate) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// The whole content as long as the file was when it was looked at, or nothing if that is more than `bytes_max`.
pub(crate) fn load(file: &File, stat: &Stat, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let size = size_of(stat);
    if size > bytes_max {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // Some files say nothing of their length.
    let wanted = if size == 0 { bytes_max + 1 } else { size };
    file.take(wanted).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// A path as the model is shown it.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_by_its_spelling_is_refused_and_one_inside_is_made_relative() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("it exists");
        let workdir = Workdir::open(&root).expect("it can be opened");
        let inside = format!("{}/a/b", root.display());
        let evil = format!("{}-evil/a", root.display());
        let climbing = format!("{}/../x", root.display());
        let table: &[(&str, Result<&str, &str>)] = &[
            (".", Ok(".")),
            ("./a//b/", Ok("a/b")),
            ("a/../b", Ok("a/../b")),
            (&inside, Ok("a/b")),
            (&evil, Err(fault::OUTSIDE_DIRECTORY)),
            (&climbing, Err(fault::OUTSIDE_DIRECTORY)),
            ("..", Err(fault::OUTSIDE_DIRECTORY)),
            ("a/../../b", Err(fault::OUTSIDE_DIRECTORY)),
            ("/etc/passwd", Err(fault::OUTSIDE_DIRECTORY)),
            ("", Err(fault::BAD_PATH)),
            ("a\0b", Err(fault::BAD_PATH)),
        ];
        for (path, expected) in table {
            let got = workdir.relative(path).map_err(|fault| fault.code);
            assert_eq!(got, expected.map(PathBuf::from), "{path:?}");
        }
    }

    #[test]
    fn a_missing_working_directory_is_an_error_that_names_it() {
        let error = Workdir::open(Path::new("/nonexistent/dir")).expect_err("it is missing");
        assert!(error.to_string().contains("/nonexistent/dir"), "{error}");
    }
}
