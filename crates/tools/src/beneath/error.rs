//! Why a path was not opened.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// Why a path was not opened or not read. Each says what happened and names the path as it was given.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path:?}: there is no such file or directory")]
    Missing { path: PathBuf },
    #[error("{path:?} is a symbolic link or leads through one, and links are not followed here")]
    Link { path: PathBuf },
    #[error("{path:?} is a link to a file that does not exist")]
    Dangling { path: PathBuf },
    #[error("{path:?} leads outside the directory that it belongs to")]
    Outside { path: PathBuf },
    #[error("{path:?} is a directory, not a file")]
    Directory { path: PathBuf },
    #[error("{path:?}: a part of the path is not a directory")]
    NotADirectory { path: PathBuf },
    #[error("{path:?} is a pipe, a socket or a device, not a regular file")]
    Special { path: PathBuf },
    #[error("{path:?} has more than {bytes_max} bytes")]
    TooLarge { path: PathBuf, bytes_max: u64 },
    #[error("{path:?} has more than {entries_max} entries")]
    TooManyEntries { path: PathBuf, entries_max: usize },
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl OpenError {
    /// What the system's answer means where no link was to be followed.
    pub(super) fn of(errno: Errno, path: &Path) -> Self {
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT => Self::Missing { path },
            Errno::LOOP => Self::Link { path },
            Errno::XDEV => Self::Outside { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ISDIR => Self::Directory { path },
            // What opening a socket, or a device that is not there, comes to.
            Errno::NXIO | Errno::NODEV => Self::Special { path },
            errno => Self::Io {
                path,
                source: errno.into(),
            },
        }
    }

    /// Whether nothing is there, which for many files is nothing wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// Refuses whatever was opened and is no regular file.
pub(super) fn refuse_special(stat: &Stat, path: &Path) -> Result<(), OpenError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(OpenError::Directory { path: path.into() }),
        _ => Err(OpenError::Special { path: path.into() }),
    }
}
