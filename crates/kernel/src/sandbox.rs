//! How far the commands of a run may reach: plain data that a run is given and its log keeps.

use serde::{Deserialize, Serialize};

/// How the name begins of what a command made and the sandbox put aside, because it would configure later programs.
pub const INERT: &[u8] = b"inert-";

/// What a command may do to the machine.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Writes nothing but a temporary directory of its own.
    ReadOnly,
    /// Writes the working directory too, except what git keeps there.
    #[default]
    WorkspaceWrite,
    /// Does what the user may do; only the environment, the limits and the end are ours.
    Full,
}

impl SandboxLevel {
    /// From the tightest to the widest.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Full];

    /// The word for it in the configuration and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Full => "full",
        }
    }

    /// Reads such a word, exactly as it is written.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// What is demanded for the commands and servers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SandboxConfig {
    /// How far commands may reach.
    #[serde(default)]
    pub level: SandboxLevel,
    /// Whether the run is refused where the machine cannot enforce the whole of the level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Whether commands run with whatever of the level the machine can enforce. Else they are refused where that is not
    /// all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best_effort: bool,
    /// Whether commands reach the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Variables that are handed on besides the harmless ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Places in the person's home, and others that are hidden, that commands may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<String>,
    /// What the processes of one command may use.
    #[serde(default)]
    pub limits: ProcessLimits,
}

impl SandboxConfig {
    /// The same for commands that leave nothing behind, here or elsewhere: they write nothing that lasts, reach nobody, and do
    /// not run where the machine cannot enforce that.
    #[must_use]
    pub fn leaving_nothing(self) -> Self {
        Self {
            level: SandboxLevel::ReadOnly,
            best_effort: false,
            network: false,
            ..self
        }
    }
}

/// What the processes of one command may use at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// Of the processor, for each process.
    pub cpu_s: u64,
    /// Of private memory, for each process.
    pub memory_bytes: u64,
    /// At the same time, threads counted.
    pub processes: u64,
    /// The largest file that may be written.
    pub file_bytes: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            cpu_s: 3600,
            memory_bytes: 16 << 30,
            processes: 4096,
            file_bytes: 8 << 30,
        }
    }
}
