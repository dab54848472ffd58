//! What a prompt file holds.

use bonded_kernel::{Mode, Segment, segments_for};
use serde::{Deserialize, Serialize};

/// The only agent that a prompt file can be of.
pub const AGENT_NAME: &str = "kjxlkj-agent";
/// The only protocol that a prompt file can ask for.
pub const PROTOCOL: &str = "xml_attrless";
/// A longer file is no prompt.
pub const PROMPT_FILE_BYTES_MAX: usize = 1 << 20;

pub(crate) const MODES: [(&str, Mode); 2] = [("yolo", Mode::Yolo), ("reviewed", Mode::Reviewed)];

/// A prompt file that was read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPrompt {
    /// Always `AGENT_NAME`.
    pub agent_name: String,
    /// Whatever the author counts by: a date, or a version.
    pub version: String,
    /// What holds where neither the action nor the host says it.
    pub default_mode: Option<Mode>,
    /// Always `PROTOCOL`.
    pub protocol: String,
    /// The instructions that the agent may write.
    pub allowed_tags: Vec<String>,
    /// At least one, in the order of the file.
    pub segments: Vec<Segment>,
}

impl AgentPrompt {
    /// The segments that are given in these states: those for all of them and those of each state, in the order of
    /// the file.
    pub fn segments_for<'a>(&'a self, states: &'a [&str]) -> impl Iterator<Item = &'a Segment> {
        segments_for(&self.segments, states)
    }
}
