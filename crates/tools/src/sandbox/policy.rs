//! What commands may do, as whoever starts them says it.

use std::path::PathBuf;

use bonded_kernel::{ProcessLimits, SandboxLevel};

/// What commands may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// How far commands may write.
    pub level: SandboxLevel,
    /// Whether a machine that cannot enforce the whole of the level is an error from the beginning.
    pub required: bool,
    /// Whether commands run with what the machine can enforce. Else they are refused where that is not all of it.
    pub best_effort: bool,
    /// Whether there is any. At the level `full` there always is.
    pub network: bool,
    /// Of each command with all of its processes.
    pub limits: ProcessLimits,
    /// Variables that are handed on besides the harmless ones.
    pub env_pass: Vec<String>,
    /// Readable, although they lie in the person's home or are hidden otherwise.
    pub show: Vec<PathBuf>,
    /// Neither readable nor writable, besides the person's home and other places where people keep keys.
    pub hidden_paths: Vec<PathBuf>,
    /// Never writable, besides what configures later programs.
    pub protected_paths: Vec<PathBuf>,
    /// The home of the commands, kept between them. Without one each has a home that goes with it.
    pub home: Option<PathBuf>,
}

impl SandboxPolicy {
    /// Whether what a command does is gone when it has ended: it writes only what goes with it, and reaches nobody. Where the
    /// machine cannot enforce that, it is not started.
    pub(super) fn leaves_nothing(&self) -> bool {
        let is_enforced = !self.best_effort;
        is_enforced && self.level == SandboxLevel::ReadOnly && !self.network && self.home.is_none()
    }
}
