//! Runs that work in loops: each turn begins with what the memory holds and with nothing else that was said before.
//! What makes a run one of these is in its settings; everything else is the same kernel.

mod op;
mod operation;
mod prompt;
mod scope;
mod summary;
mod told;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use operation::{OperationOutcome, OperationSummary, RunAudit};
pub use prompt::{DEFAULT_CONDITION, Mode, STATES, Segment, TAGS, segments_for};
pub use scope::{Scope, ScopeCode, ScopeViolation};

pub(crate) use op::{LoopOp, LoopRules, enters_state};
pub(crate) use summary::{Alike, alike_in, summary_of_finished, summary_of_refused};
pub(crate) use told::Told;

use crate::decode::attrless::PARSER_VERSION;
use crate::event::RejectReason;
use crate::memory::Memory;
use crate::text::Text;
use crate::time::Millis;
use crate::uuid::RuleId;

/// Where the memory begins to be too large, unless a setting says otherwise.
pub const PAGING_BYTES: u64 = 8_192;

/// The operations that are summed up in the audit of a run.
const SUMMARIES_MAX: usize = 500;

/// What the kernel itself ends a loop with.
pub(crate) const XML_PARSE_ERROR: &str = "XML_PARSE_ERROR";
pub(crate) const LLM_TIMEOUT: &str = "LLM_TIMEOUT";
pub(crate) const LLM_UNAVAILABLE: &str = "LLM_UNAVAILABLE";
pub(crate) const RATE_LIMITED: &str = "RATE_LIMITED";
pub(crate) const CONTEXT_OVERFLOW: &str = "CONTEXT_OVERFLOW";

/// Whether a code is one that follows from the log alone.
pub(crate) fn is_own_code(code: &str) -> bool {
    [
        XML_PARSE_ERROR,
        LLM_TIMEOUT,
        LLM_UNAVAILABLE,
        RATE_LIMITED,
        CONTEXT_OVERFLOW,
    ]
    .contains(&code)
}

/// How often a reply that cannot be read is asked for again.
pub(crate) const REPAIRS_MAX: u32 = 2;

/// How often a provider that fails is asked again.
pub(crate) const RETRIES_MAX: u32 = 3;
const RETRY_MS_MIN: u64 = 100;
const RETRY_MS_MAX: u64 = 5_000;

/// How long to wait after the failure of this number, counted from 0.
pub(crate) fn retry_ms(failures_before: u32) -> u64 {
    let factor = 1 << failures_before.min(16);
    RETRY_MS_MIN.saturating_mul(factor).min(RETRY_MS_MAX)
}

/// What makes a run work in loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopConfig {
    pub rule_id: RuleId,
    /// The parts of the prompt as a JSON array; see [`LoopConfig::new`].
    pub(crate) segments: Text,
    /// SHA-256 of the prompt file, in hexadecimal digits.
    pub prompt_hash: String,
    pub parser_version: String,
    /// Whether whatever is wrong with a reply fails it as a whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The instructions that may be used; all of them where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tags: Vec<String>,
    pub mode: Mode,
    pub scope: Scope,
    pub loop_delay_ms: u64,
    pub idle_delay_ms: u64,
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
    /// Settings with nothing but the usual; callers change what they are about.
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

/// What is kept of every run that works in loops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopAudit {
    pub prompt_hash: String,
    pub parser_version: String,
    pub loop_count: u32,
    /// The instructions that were executed.
    pub operation_count: u32,
    /// Absent where the run succeeded or has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    pub started_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Millis>,
    /// What was done to notes, and what was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationSummary>,
    /// How many more of these there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub operations_left_out: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl LoopAudit {
    /// As a workspace keeps it, once the run has ended.
    pub fn of_ended(self) -> Option<RunAudit> {
        Some(RunAudit {
            completed_at: self.completed_at?,
            prompt_hash: self.prompt_hash,
            parser_version: self.parser_version,
            loop_count: self.loop_count,
            operation_count: self.operation_count,
            error_code: self.error_code,
            started_at: self.started_at,
            operations: self.operations,
            operations_left_out: self.operations_left_out,
        })
    }
}

/// How a run that works in loops stands.
#[derive(Clone, Debug)]
pub(crate) struct Looping {
    pub(crate) memory: Memory,
    pub(crate) segments: Arc<[Segment]>,
    /// The system text of the turn's requests.
    pub(crate) system: Text,
    /// What came of the calls of the turn.
    pub(crate) told: Told,
    /// The next turn does not begin before.
    pub(crate) rest_until: Millis,
    pub(crate) operations: u32,
    pub(crate) summaries: Summaries,
    /// Whether the records of this turn showed notes that are alike.
    pub(crate) alike: Alike,
    /// Whether `record_organizing` came by itself.
    pub(crate) organizes: bool,
    /// What a call was refused with that must end the run.
    pub(crate) violation: Option<Arc<str>>,
    /// Why the last reply was rejected.
    pub(crate) rejected: Option<RejectReason>,
    pub(crate) started_at: Millis,
    pub(crate) ended_at: Option<Millis>,
}

impl Looping {
    pub(crate) fn begin(config: &LoopConfig, goal: &str, run: &str, at: Millis) -> Self {
        let mut memory = Memory::read(&config.memory).unwrap_or_default();
        memory.begin(goal, run);
        memory.settle_paging(config.paging_bytes);
        Self {
            memory,
            segments: config.segments().into(),
            system: Text::default(),
            told: Told::default(),
            rest_until: at,
            operations: 0,
            summaries: Summaries::default(),
            alike: Alike::Unseen,
            organizes: false,
            violation: None,
            rejected: None,
            started_at: at,
            ended_at: None,
        }
    }
}

/// What is kept of the operations of a run: the first ones, and how many more there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summaries {
    pub(crate) kept: Vec<OperationSummary>,
    pub(crate) left_out: u32,
}

impl Summaries {
    pub(crate) fn push(&mut self, summary: OperationSummary) {
        match self.kept.len() < SUMMARIES_MAX {
            true => self.kept.push(summary),
            false => self.left_out += 1,
        }
    }
}

/// Whether a code says that a call went beyond the scope of its run.
pub(crate) fn is_violation(code: &str) -> bool {
    [ScopeCode::ScopeViolation, ScopeCode::CrossWorkspaceRejected]
        .iter()
        .any(|it| it.as_str() == code)
}
