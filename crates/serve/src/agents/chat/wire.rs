//! A chat completion as OpenAI's clients read it, whole and in chunks.
//!
//! The names are OpenAI's. A field that is always null is written as the unit type, so that it cannot come to mean
//! something by accident.

use serde::Serialize;

use crate::agents::answer::RunAnswer;

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
    /// Always `stop`: a run that did not report is an error.
    pub(super) finish_reason: &'static str,
}

/// The message of the agent.
#[derive(Debug, Serialize)]
pub(super) struct CompletionMessage<'a> {
    /// Always `assistant`.
    pub(super) role: &'static str,
    /// The report.
    pub(super) content: &'a str,
    /// Always null.
    pub(super) refusal: (),
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
    /// `stop` in the last chunk of the text, null before.
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
    /// What the run does, for clients that asked for progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
}
