//! The prompt file of the agent: who it is, what it may write, and which text it is given in which state.
//!
//! A file with an unknown key is taken with a warning; a file that is wrong anywhere is not taken at all, so that an
//! agent never works with half of its instructions. The text of the file is trusted: it is written by whoever runs the
//! server.

mod prompt;
mod read;

use serde_json::Value;

use super::code::Code;
use super::fault::Fault;
use read::Reading;

pub(super) use prompt::MODES;
pub use prompt::{AGENT_NAME, AgentPrompt, PROMPT_FILE_BYTES_MAX, PROTOCOL};

/// Why a prompt file cannot be used. Each stops the start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptFault {
    /// The bytes are no JSON, or too many; the place is that where reading stopped.
    #[error("line {line}, column {column}: this is not JSON: {why}")]
    NotJson {
        line: usize,
        column: usize,
        why: String,
    },
    /// It is JSON and no prompt; everything that is wrong with it, together.
    #[error("{}", joined(.faults))]
    Schema { faults: Vec<Fault> },
    /// Nothing else is wrong, and this segment says nothing to the agent. The first of them.
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
    /// What was read.
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
}

/// The length is checked before the parser sees a byte.
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
