//! The prompt file of the agent: who it is, what it may write, and which text it is given in which state.

mod read;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use bonded_kernel::{Mode, Segment, segments_for};

use super::code::Code;
use super::fault::Fault;
use read::Reading;

/// The only agent that a prompt file can be of.
pub const AGENT_NAME: &str = "kjxlkj-agent";
/// The only protocol that a prompt file can ask for.
pub const PROTOCOL: &str = "xml_attrless";
pub const PROMPT_FILE_BYTES_MAX: usize = 1 << 20;

pub(super) const MODES: [(&str, Mode); 2] = [("yolo", Mode::Yolo), ("reviewed", Mode::Reviewed)];

/// A prompt file that was read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPrompt {
    pub agent_name: String,
    pub version: String,
    pub default_mode: Option<Mode>,
    pub protocol: String,
    pub allowed_tags: Vec<String>,
    pub segments: Vec<Segment>,
}

/// Why a prompt file cannot be used. Each stops the start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptFault {
    #[error("line {line}, column {column}: this is no JSON: {why}")]
    NotJson {
        line: usize,
        column: usize,
        why: String,
    },
    #[error("{}", joined(.faults))]
    Schema { faults: Vec<Fault> },
    #[error(
        "/segments/{index}/prompt: segment {index} has no text; write what the agent is to be told, or remove the segment"
    )]
    SegmentEmpty { index: usize },
}

fn joined(faults: &[Fault]) -> String {
    let sentences: Vec<String> = faults.iter().map(Fault::to_string).collect();
    sentences.join("; ")
}

impl PromptFault {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::NotJson { .. } => Code::PromptJsonInvalid,
            Self::Schema { .. } => Code::PromptSchemaInvalid,
            Self::SegmentEmpty { .. } => Code::PromptSegmentEmpty,
        }
    }
}

/// A prompt file, and what it holds that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPrompt {
    pub prompt: AgentPrompt,
    /// Keys that were left aside.
    pub warnings: Vec<Fault>,
}

impl AgentPrompt {
    /// Reads the bytes of a prompt file.
    pub fn read(bytes: &[u8]) -> Result<ReadPrompt, PromptFault> {
        let value = parse(bytes)?;
        let mut reading = Reading::default();
        let prompt = reading.prompt(&value);
        match (prompt, reading.faults.is_empty(), reading.empty.first()) {
            (Some(prompt), true, None) => Ok(ReadPrompt {
                prompt,
                warnings: reading.warnings,
            }),
            (_, true, Some(&index)) => Err(PromptFault::SegmentEmpty { index }),
            _ => Err(PromptFault::Schema {
                faults: reading.faults,
            }),
        }
    }

    /// The segments that are given in these states: those for all of them and those of each state, in the order of
    /// the file.
    pub fn segments_for<'a>(&'a self, states: &'a [&str]) -> impl Iterator<Item = &'a Segment> {
        segments_for(&self.segments, states)
    }
}

fn parse(bytes: &[u8]) -> Result<Value, PromptFault> {
    let not_json = |line, column, why: &str| PromptFault::NotJson {
        line,
        column,
        why: why.into(),
    };
    if bytes.len() > PROMPT_FILE_BYTES_MAX {
        let why = format!("the file is longer than {PROMPT_FILE_BYTES_MAX} bytes");
        return Err(not_json(1, 1, &why));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| not_json(error.line(), error.column(), &error.to_string()))
}
