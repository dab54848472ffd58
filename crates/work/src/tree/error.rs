//! Why a tree cannot be frozen, restored or copied.

use std::io;
use std::path::PathBuf;

use bonded_kernel::Hash;

/// Why a tree cannot be frozen, restored or copied.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A path could not be looked at.
    #[error("{} cannot be read: {source}; give yourself read access, or move it out of the tree", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The tree's root is a file.
    #[error("{} is not a directory; name the directory to work on", path.display())]
    NoDirectory { path: PathBuf },
    /// Something else is mounted within the tree.
    #[error("another file system is mounted at {}; unmount it, or work on a tree without it", path.display())]
    Mount { path: PathBuf },
    /// It changed while it was read, each time.
    #[error("{} kept changing while the tree was frozen; stop what writes there and start again", path.display())]
    Busy { path: PathBuf },
    /// A path that is longer than the system can name.
    #[error("the path {} is longer than the system can name; shorten it, or move it out of the tree", path.display())]
    TooLong { path: PathBuf },
    /// What is kept of the tree would be a part of it.
    #[error(
        "the data about the tree, {}, would be inside the tree {}; move the store with --store",
        kept.display(), root.display()
    )]
    KeptInside { kept: PathBuf, root: PathBuf },
    /// What is kept about trees could not be written or read.
    #[error("{} cannot be written: {source}{}; the tree is untouched", path.display(), hint(source))]
    Kept { path: PathBuf, source: io::Error },
    /// A content that should be kept is not.
    #[error("the content {hash} is not in {}; the checkpoint that names it is lost", dir.display())]
    Missing { hash: Hash, dir: PathBuf },
    /// A content that is kept is another than it was.
    #[error("{} is damaged: {why}; the checkpoint is lost", path.display())]
    Damaged { path: PathBuf, why: &'static str },
    /// A tree is restored only where nothing is.
    #[error("{} is not empty; a tree is restored into an empty directory", path.display())]
    NotEmpty { path: PathBuf },
    /// A file could not be made.
    #[error("{} cannot be made: {source}{}", path.display(), hint(source))]
    Unmade { path: PathBuf, source: io::Error },
    /// A device cannot be made again.
    #[error("{} is a device, which cannot be copied; move it out of the tree", path.display())]
    Device { path: PathBuf },
    /// The tree is a repository without a work tree.
    #[error("{} is a bare repository; name a directory with a working tree", path.display())]
    Bare { path: PathBuf },
    /// The repository is in the middle of a merge, a rebase or the like.
    #[error("{} is in the middle of a {what}; finish or abort it first ({hint})", path.display())]
    InTheMiddle {
        path: PathBuf,
        what: &'static str,
        hint: &'static str,
    },
    /// A copy could not be mounted or locked.
    #[error("the isolated copy {} cannot be created: {why}", path.display())]
    NoCopy { path: PathBuf, why: String },
}

impl TreeError {
    /// For what is ours and could not be written or read.
    pub(super) fn kept<E: Into<io::Error>>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Kept {
            path,
            source: source.into(),
        }
    }

    /// For what could not be made in a directory that is given to a tree.
    pub(super) fn unmade<E: Into<io::Error>>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Unmade {
            path,
            source: source.into(),
        }
    }

    pub(super) fn unreadable<E: Into<io::Error>>(
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Unreadable {
            path,
            source: source.into(),
        }
    }
}

/// Empty where nothing is known that would help.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space there and start again"
        }
        io::ErrorKind::PermissionDenied => "; give yourself write access",
        _ => "",
    }
}
