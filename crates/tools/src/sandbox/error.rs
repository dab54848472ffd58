//! Why commands cannot be confined as demanded.

use std::path::PathBuf;

/// Why commands cannot be confined as demanded.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The policy demands what cannot be enforced here.
    #[error("this machine cannot enforce the sandbox, because it lacks {feature}: {why}; {hint}")]
    Missing {
        /// What it lacks, in the words of the kernel.
        feature: &'static str,

        /// What was tried, and what the system said.
        why: String,

        /// What a person can do.
        hint: &'static str,
    },
    /// The sandbox is told its paths as texts.
    #[error("the path {path:?} cannot be named to the sandbox because it is not UTF-8; rename it")]
    NotUtf8 {
        /// Without links.
        path: PathBuf,
    },
    /// What is not there yet could be made by a command, and shown to the next.
    #[error("the sandbox is to show {path:?}, which is not there; correct `sandboxShow`")]
    NothingToShow {
        /// As it was given.
        path: PathBuf,
    },
    /// It is gone, or not readable.
    #[error("the working directory {path:?} cannot be resolved: {source}")]
    Workdir {
        /// As it was given.
        path: PathBuf,

        /// The answer of the system.
        source: std::io::Error,
    },
}

/// Something that the machine lacks for a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) feature: &'static str,
    pub(super) why: String,
    /// What a person can do about it.
    pub(super) hint: &'static str,
}

impl From<Missing> for SandboxError {
    fn from(Missing { feature, why, hint }: Missing) -> Self {
        Self::Missing { feature, why, hint }
    }
}
