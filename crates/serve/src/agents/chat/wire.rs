//! A chat completion as OpenAI's clients read it, whole and in chunks.
//!
//! The names are OpenAI's. A field that is always null is written as the unit type, so that it cannot come to mean
//! something by accident.

use serde::Serialize;

use crate::agents::answer::{HandedCall, RunAnswer};

/// An answer in one piece.
#[derive(Debug, Serialize)]
pub(crate) struct ChatCompletion<'a> {
    /// Begins with `chatcmpl-` and names the run.
    pub(super) id: String,
    /// Always `chat.completion`.
    pub(super) object: &'static str,
    /// Seconds since the Unix epoch.
    pub(super) created: u64,
    /// The name that the client asked for.
    pub(super) model: &'a str,
    /// There is always one.
    pub(super) choices: [CompletionChoice<'a>; 1],
    /// Of the whole run.
    pub(super) usage: CompletionUsage,
}

/// The one answer.
#[derive(Debug, Serialize)]
pub(super) struct CompletionChoice<'a> {
    /// Always 0.
    pub(super) index: u32,
    /// What the agent reported.
    pub(super) message: CompletionMessage<'a>,
    /// Always null.
    pub(super) logprobs: (),
    /// `stop`, or `tool_calls`: a run that came to neither a report nor calls is an error.
    pub(super) finish_reason: &'static str,
}

/// The message of the agent.
#[derive(Debug, Serialize)]
pub(super) struct CompletionMessage<'a> {
    /// Always `assistant`.
    pub(super) role: &'static str,
    /// The report, or what was said beside the calls.
    pub(super) content: Option<&'a String>,
    /// Always null.
    pub(super) refusal: (),
    /// What the client executes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall<'a>>,
}

/// A call that the client executes.
#[derive(Debug, Serialize)]
pub(super) struct ToolCall<'a> {
    /// Its place among the calls, which clients put pieces together by.
    index: usize,
    /// To be sent back with the result.
    id: &'a str,
    /// Always `function`.
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

/// The tool, and what it is called with.
#[derive(Debug, Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// A text of JSON.
    arguments: &'a str,
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(index: usize, call: &'a HandedCall) -> Self {
        Self {
            index,
            id: &call.id,
            kind: "function",
            function: CalledFunction {
                name: &call.tool,
                arguments: &call.arguments,
            },
        }
    }
}

/// Tokens as OpenAI counts them.
#[derive(Debug, Serialize)]
pub(super) struct CompletionUsage {
    /// All that went to models, over all turns.
    prompt_tokens: u64,
    /// All that came from models, over all turns.
    completion_tokens: u64,
    /// Both together.
    total_tokens: u64,
    /// How much of the input was cached.
    prompt_tokens_details: PromptTokensDetails,
}

/// A part of the count of the input.
#[derive(Debug, Serialize)]
struct PromptTokensDetails {
    /// Tokens that the provider did not read anew.
    cached_tokens: u64,
}

impl From<&RunAnswer> for CompletionUsage {
    fn from(answer: &RunAnswer) -> Self {
        let usage = &answer.usage;
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: PromptTokensDetails {
                cached_tokens: usage.cached,
            },
        }
    }
}

/// A piece of an answer.
#[derive(Debug, Serialize)]
pub(super) struct CompletionChunk<'a> {
    /// The same in all chunks of an answer.
    pub(super) id: String,
    /// Always `chat.completion.chunk`.
    pub(super) object: &'static str,
    /// The same in all chunks of an answer.
    pub(super) created: u64,
    /// The name that the client asked for.
    pub(super) model: &'a str,
    /// One, or none in the chunk with the usage.
    pub(super) choices: &'a [ChunkChoice<'a>],
    /// Absent where the client did not ask for it, and null in all chunks but the last where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Option<CompletionUsage>>,
}

/// The one answer, continued.
#[derive(Debug, Serialize)]
pub(super) struct ChunkChoice<'a> {
    /// Always 0.
    pub(super) index: u32,
    /// What this chunk adds.
    pub(super) delta: ChunkDelta<'a>,
    /// Always null.
    pub(super) logprobs: (),
    /// `stop` or `tool_calls` in the last chunk of the answer, null before.
    pub(super) finish_reason: Option<&'static str>,
}

/// What a chunk adds to the message.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChunkDelta<'a> {
    /// In the first chunk only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    /// Text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<&'a str>,
    /// What the run does, where progress is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    /// A call that the client executes, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<[ToolCall<'a>; 1]>,
}
