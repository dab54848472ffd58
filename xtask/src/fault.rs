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
    /// Something from outside the project could not be had.
    Uninstallable {
        what: String,
        why: String,
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

    /// What the process ends with: what is wrong here is told from what is missing here.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Uninstallable { .. } => 2,
            _ => 1,
        }
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
            Self::Uninstallable { what, why } => write!(f, "cannot install {what}: {why}"),
            Self::Unmeasured { why } => write!(f, "cannot measure: {why}"),
        }
    }
}

impl std::error::Error for Fault {}
