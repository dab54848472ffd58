//! What can go wrong here.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) enum Fault {
    Usage {
        why: String,
    },
    /// A program that was needed could not be started.
    Missing {
        program: String,
        source: io::Error,
    },
    /// A program ran and said no.
    Failed {
        command: String,
        status: String,
    },
    File {
        path: PathBuf,
        source: io::Error,
    },
    /// A check found something; each line is one finding.
    Found {
        findings: Vec<String>,
    },
    /// A measurement could not be made.
    Unmeasured {
        why: String,
    },
}

impl Fault {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    pub(crate) fn unmeasured(why: impl fmt::Display) -> Self {
        Self::Unmeasured {
            why: why.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage { why } => f.write_str(why),
            Self::Missing { program, source } => {
                write!(f, "cannot start {program}: {source}; install it first")
            }
            Self::Failed { command, status } => write!(f, "`{command}` failed: {status}"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Found { findings } => {
                write!(f, "{} findings:", findings.len())?;
                findings
                    .iter()
                    .try_for_each(|finding| write!(f, "\n  {finding}"))
            }
            Self::Unmeasured { why } => write!(f, "cannot measure: {why}"),
        }
    }
}

impl std::error::Error for Fault {}
