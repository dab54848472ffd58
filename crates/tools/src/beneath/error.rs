//! Why a path was not opened.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// Why a path was not opened or not read. Each says what happened and names the path as it was given.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there, or a directory on the way is not.
    #[error("{path:?}: there is no such file or directory")]
    Missing {
        /// As it was given.
        path: PathBuf,
    },
    /// A link stands on the way where none may be followed.
    #[error("{path:?} is a symbolic link or leads through one, and links are not followed here")]
    Link {
        /// As it was given.
        path: PathBuf,
    },
    /// A link that may be followed leads to nothing.
    #[error("{path:?} is a link to a file that does not exist")]
    Dangling {
        /// As it was given.
        path: PathBuf,
    },
    /// It leads out of the root: by `..`, by an absolute path, or by a link.
    #[error("{path:?} leads outside the directory that it belongs to")]
    Outside {
        /// As it was given.
        path: PathBuf,
    },
    /// A file was asked for.
    #[error("{path:?} is a directory, not a file")]
    Directory {
        /// As it was given.
        path: PathBuf,
    },
    /// A name on the way is that of a file.
    #[error("{path:?}: a part of the path is not a directory")]
    NotADirectory {
        /// As it was given.
        path: PathBuf,
    },
    /// To open it could wait for ever, or do something.
    #[error("{path:?} is a pipe, a socket or a device, not a regular file")]
    Special {
        /// As it was given.
        path: PathBuf,
    },
    /// Nothing of it is given to the caller.
    #[error("{path:?} has more than {bytes_max} bytes")]
    TooLarge {
        /// As it was given.
        path: PathBuf,
        /// What the caller takes at most.
        bytes_max: u64,
    },
    /// Nothing of the list is given to the caller.
    #[error("{path:?} has more than {entries_max} entries")]
    TooManyEntries {
        /// As it was given.
        path: PathBuf,
        /// What the caller takes at most.
        entries_max: usize,
    },
    /// Whatever else the system refused.
    #[error("{path:?}: {source}")]
    Io {
        /// As it was given.
        path: PathBuf,
        /// The answer of the system.
        source: io::Error,
    },
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

/// Refuses whatever was opened and is not a regular file.
pub(super) fn refuse_special(stat: &Stat, path: &Path) -> Result<(), OpenError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(OpenError::Directory { path: path.into() }),
        _ => Err(OpenError::Special { path: path.into() }),
    }
}
