//! Opening files that a stranger may have named: beneath a root, regular, bounded, and looked at after they were
//! opened. Links are followed only as long as they stay beneath the root.
//!
//! The order is what makes it safe: a file is opened first, and its kind, its real path and what it is
//! are asked of the open file. A check of the path alone could be answered by one file and the reading
//! by another.
//!
//! Secrets are known by device and inode as well as by name, so that a hard link or another name does
//! not help.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bonded_tools::beneath::{Links, OpenError, Root};

use crate::regular;

/// Files that hold secrets, whatever they are called and however they are linked. What a prompt includes is sent to
/// a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretFiles(Vec<(u64, u64)>);

impl SecretFiles {
    /// Those of the files that are there.
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let files = files.into_iter();
        let known = files.filter_map(|file| std::fs::metadata(file).ok());
        Self(known.map(|it| (it.dev(), it.ino())).collect())
    }

    /// By device and inode of the open file.
    fn hold(&self, file: &File) -> io::Result<bool> {
        let about = file.metadata()?;
        Ok(self.0.contains(&(about.dev(), about.ino())))
    }
}

/// The names of such files.
const SECRET_NAMES: [&str; 3] = [".env", ".ai-agent.env", "ai-agent.env"];

/// A file that was opened, and where it really lies.
pub(crate) struct OpenFile {
    file: File,
    /// As the system knows the open file, without links.
    pub(crate) real: PathBuf,
}

/// Opens a regular file beneath a directory. `path` is relative to it, or absolute and beneath it.
///
/// The error of a path that leads out is known by `leads_out`.
pub(crate) fn open(root: &Path, path: &Path) -> io::Result<OpenFile> {
    let held = Root::open(root).map_err(io_error)?;
    let real = real_path(held.as_fd().as_raw_fd());
    let real = real.unwrap_or_else(|| root.to_owned());
    let relative = path
        .strip_prefix(root)
        .or_else(|_| path.strip_prefix(&real))
        .unwrap_or(path);
    let file = held.file(relative, Links::Inside).map_err(io_error)?;
    looked_at(file, &real.join(relative))
}

/// Opens a directory beneath another one, and says where it really lies. Links are followed only beneath that one.
pub(crate) fn directory(root: &Path, path: &Path) -> io::Result<(Root, PathBuf)> {
    let held = Root::open(root).map_err(io_error)?;
    let held = held.directory(path, Links::Inside).map_err(io_error)?;
    let real = real_path(held.as_fd().as_raw_fd());
    let real = real.unwrap_or_else(|| held.path().to_owned());
    Ok((held, real))
}

/// The kind of the error of a path that is a link where none may be.
const IS_LINK: io::ErrorKind = io::ErrorKind::InvalidInput;

/// Whether an error says that a path is a link where none may be.
pub(crate) fn is_link(error: &io::Error) -> bool {
    error.kind() == IS_LINK
}

/// What went wrong, in the words of the system where it has them.
fn io_error(error: OpenError) -> io::Error {
    match error {
        OpenError::Missing { .. } | OpenError::Dangling { .. } => rustix::io::Errno::NOENT.into(),
        OpenError::NotADirectory { .. } => rustix::io::Errno::NOTDIR.into(),
        OpenError::Outside { .. } => rustix::io::Errno::XDEV.into(),
        OpenError::Io { source, .. } => source,
        OpenError::Directory { .. } | OpenError::Special { .. } => {
            io::Error::other("it is not a regular file")
        }
        OpenError::Link { .. } => io::Error::new(
            IS_LINK,
            "it is a symbolic link, and a configuration that is found must be a regular file; put the file here or name it with --config",
        ),
        other @ (OpenError::TooLarge { .. } | OpenError::TooManyEntries { .. }) => {
            io::Error::other(other)
        }
    }
}

/// Whether an error says that a path leads out of the directory that it must stay beneath.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// Opens a regular file anywhere: a person allowed it.
pub(crate) fn open_anywhere(path: &Path) -> io::Result<OpenFile> {
    looked_at(regular::open(path)?, path)
}

/// Opens a file that must not be a link itself.
///
/// The directories above it may be links; only the last name may not.
pub(crate) fn open_no_link(path: &Path) -> io::Result<OpenFile> {
    let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
    let dir = path.parent().filter(|dir| *dir != Path::new(""));
    let held = Root::open(dir.unwrap_or(Path::new("."))).map_err(io_error)?;
    let file = held
        .file(Path::new(name), Links::Refused)
        .map_err(io_error)?;
    looked_at(file, path)
}

/// Where the system does not say where the file lies, its name is resolved again, which is only for
/// messages and comparisons.
fn looked_at(file: File, named: &Path) -> io::Result<OpenFile> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let real = real_path(file.as_raw_fd())
        .or_else(|| named.canonicalize().ok())
        .unwrap_or_else(|| named.to_owned());
    Ok(OpenFile { file, real })
}

/// Where an open file lies, as the system knows it.
fn real_path(descriptor: i32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    path.is_absolute().then_some(path)
}

impl OpenFile {
    /// Refuses what holds secrets: by its name, and by what it is.
    pub(crate) fn check_secret(&self, secrets: &SecretFiles) -> Result<(), String> {
        if is_secret_name(&self.real) {
            return Err("it leads to a file that holds secrets".into());
        }
        match secrets.hold(&self.file) {
            Ok(false) => Ok(()),
            Ok(true) => Err("it is a hard link to a file that holds secrets".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// All of it, at most `bytes_max`; `None` where it is longer.
    pub(crate) fn read(self, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![];
        self.file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
    }
}

/// The name is compared without case, because some file systems do so too.
pub(crate) fn is_secret_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    SECRET_NAMES
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
}
