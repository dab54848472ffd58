//! A reply, or a piece of one, as it stands on the wire. Whole and streamed replies share these shapes.
//!
//! Strict where a wrong type would change what the model said, lenient where it only adorns it.

use bonded_kernel::{Finish, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::loose::{self, first_count};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) candidates: Option<Vec<Candidate>>,
    #[serde(default)]
    pub(super) prompt_feedback: Option<Value>,
    #[serde(default)]
    pub(super) usage_metadata: Option<Value>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) model_version: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) response_id: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default, deserialize_with = "loose::number")]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    pub(super) parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(default)]
    pub(super) text: Option<String>,
    /// The text is a thought.
    #[serde(default, deserialize_with = "loose::flag")]
    pub(super) thought: bool,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) thought_signature: Option<String>,
    #[serde(default)]
    pub(super) function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
pub(super) struct FunctionCall {
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Option<Box<RawValue>>,
}

/// What belongs to a part and must come back with it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartMark<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a str>,
}

/// A thought that must come back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thought<'a> {
    pub(super) text: &'a str,
    pub(super) thought: bool,
    pub(super) thought_signature: &'a str,
}

pub(super) fn finish_of(reason: &str, has_calls: bool) -> Finish {
    match reason {
        "STOP" if has_calls => Finish::ToolCalls,
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Finish::MalformedCalls,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" | "MODEL_ARMOR" => Finish::ContentFilter,
        _ => Finish::Unknown,
    }
}

/// Why a prompt was not answered at all.
pub(super) fn block_reason(feedback: Option<&Value>) -> Option<String> {
    Some(feedback?.get("blockReason")?.as_str()?.into())
}

/// `None` where the server did not count: a request of no tokens does not exist.
pub(super) fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| first_count(usage, &[pointer]).unwrap_or(0);
    let input = count("/promptTokenCount").saturating_add(count("/toolUsePromptTokenCount"));
    let output = count("/candidatesTokenCount").saturating_add(count("/thoughtsTokenCount"));
    (input > 0 || output > 0).then_some(Usage {
        input,
        output,
        cached: count("/cachedContentTokenCount").min(input),
        written: 0,
    })
}
