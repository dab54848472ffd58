//! What the launcher is told, as one argument of its command line.

use std::path::PathBuf;

use bonded_kernel::{ProcessLimits, SandboxLevel};
use serde::{Deserialize, Serialize};

/// How the namespaces are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Walls {
    None,
    Namespaces,
    Bubblewrap,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    /// Who started this stage: it does not live on without it.
    pub(super) parent: i32,
    pub(super) level: SandboxLevel,
    pub(super) network: bool,
    pub(super) walls: Walls,
    pub(super) landlock: bool,
    pub(super) seccomp: bool,
    /// Whether a fresh view of the processes can be mounted.
    pub(super) private_proc: bool,
    pub(super) limits: ProcessLimits,
    /// The working directory, absolute and without links.
    pub(super) workdir: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
}

impl Order {
    /// The directories that the command may change.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        match self.level {
            SandboxLevel::ReadOnly => vec![],
            SandboxLevel::WorkspaceWrite | SandboxLevel::Full => vec![self.workdir.clone()],
        }
    }
}
