//! What makes a run work in loops: its prompt, its scope, its memory at the start. Everything else is the same kernel.

mod prompt;
mod scope;

use serde::{Deserialize, Serialize};

pub use prompt::{DEFAULT_CONDITION, Mode, STATES, Segment, TAGS, segments_for};
pub use scope::{Scope, ScopeCode, ScopeViolation};

use crate::text::Text;
use crate::uuid::RuleId;

/// Where the memory begins to be too large, unless a setting says otherwise.
pub const PAGING_BYTES: u64 = 8_192;

/// The version of the reading, for audits.
pub const PARSER_VERSION: &str = "1.0.0";

/// What makes a run work in loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopConfig {
    /// The rule of the workspace that the run belongs to; accounts and audits name it.
    pub rule_id: RuleId,
    /// The parts of the prompt as a JSON array; see [`LoopConfig::new`].
    pub(crate) segments: Text,
    /// SHA-256 of the prompt file, in hexadecimal digits.
    pub prompt_hash: String,
    /// The reading that was in force when the run began; see [`PARSER_VERSION`].
    pub parser_version: String,
    /// Whether whatever is wrong with a reply fails it as a whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The instructions that may be used; all of them where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tags: Vec<String>,
    /// Whether what it writes takes effect at once or waits for a person.
    pub mode: Mode,
    /// What it may change, and how much in one loop.
    pub scope: Scope,
    /// The rest between two loops that have something to do.
    pub loop_delay_ms: u64,
    /// The rest before a loop that found nothing to do looks again.
    pub idle_delay_ms: u64,
    /// The size of the memory as JSON at which the agent is told to page; see [`PAGING_BYTES`].
    pub paging_bytes: u64,
    /// Whether states follow one another in their order, and `record_organizing` comes by itself. Logs of before do not
    /// say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// Whether the log keeps what the model wrote, besides the instructions in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_text: bool,
    /// The memory at the start, a JSON object.
    pub memory: Text,
    /// The file that a person sees the memory in, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_file: Option<String>,
}

impl LoopConfig {
    /// Settings with nothing but the defaults; callers change what they are about.
    pub fn new(rule_id: RuleId, scope: Scope, segments: &[Segment]) -> Self {
        // Segments are texts, so this cannot fail.
        let segments = serde_json::to_string(segments).unwrap_or_default();
        Self {
            rule_id,
            segments: segments.into(),
            prompt_hash: String::new(),
            parser_version: PARSER_VERSION.into(),
            strict: false,
            allowed_tags: vec![],
            mode: Mode::Yolo,
            scope,
            loop_delay_ms: 1_500,
            idle_delay_ms: 5_000,
            paging_bytes: PAGING_BYTES,
            ordered: true,
            keeps_text: false,
            memory: "{}".into(),
            memory_file: None,
        }
    }

    /// The parts of the prompt.
    pub fn segments(&self) -> Vec<Segment> {
        serde_json::from_str(&self.segments).unwrap_or_default()
    }

    /// Every text that may lie in a blob.
    pub(crate) fn texts_mut(&mut self) -> [&mut Text; 2] {
        [&mut self.segments, &mut self.memory]
    }
}
