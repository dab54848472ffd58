//! What can go wrong around a record of changes.

use std::io;
use std::path::PathBuf;

/// Why a record cannot be read, or why an undo was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// The record's file failed, or the directory that it lies in.
    #[error("the record of changes {}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The answer of the system.
        source: io::Error,
    },
    /// Somebody changed the record, or the disk did.
    #[error("the record of changes {} is damaged at byte {at}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the part that cannot be used begins.
        at: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The directory that the run worked in is gone or cannot be read.
    #[error("the directory of the run {} cannot be opened: {why}", path.display())]
    Directory {
        /// As the run's settings have it.
        path: PathBuf,
        /// The answer of the system.
        why: String,
    },
    /// A part of the undo failed. Everything was put back before this was said.
    #[error("{}: {source}", path.display())]
    Failed {
        /// Beneath the directory of the run.
        path: PathBuf,
        /// The answer of the system.
        source: io::Error,
    },
    /// Something was changed between the look at it and the exchange. Everything was put back.
    #[error("{} was changed while it was being undone", path.display())]
    Meddled {
        /// Beneath the directory of the run.
        path: PathBuf,
    },
}

impl ChangesError {
    pub(crate) fn record(path: &std::path::Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Record {
            path: path.clone(),
            source,
        }
    }
}
