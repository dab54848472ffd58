//! A reply, or a piece of one, as it stands on the wire. Whole and streamed replies share these shapes.
//!
//! Strict where a wrong type would change what the model said, lenient where it only adorns it.

use bonded_kernel::{Finish, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "loose_text")]
    pub(super) object: Option<String>,
    #[serde(default, deserialize_with = "loose_text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "loose_text")]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "loose_number")]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) delta: Option<Said>,
    #[serde(default)]
    pub(super) message: Option<Said>,
    #[serde(default, deserialize_with = "loose_text")]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// What the model said. Each field is its own, since some servers send two spellings of one at once.
#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default)]
    pub(super) reasoning: Option<Content>,
    #[serde(default)]
    pub(super) reasoning_content: Option<Content>,
    #[serde(default)]
    pub(super) refusal: Option<Content>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallPart>>,
    #[serde(default)]
    pub(super) function_call: Option<FunctionPart>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    text: Option<String>,
}

impl Content {
    /// `None` for something that is neither a text nor a list of parts.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(parts) => Some(parts.into_iter().filter_map(|part| part.text).collect()),
            Self::Other(_) => None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct CallPart {
    #[serde(default, deserialize_with = "loose_number")]
    pub(super) index: Option<u64>,
    #[serde(default, deserialize_with = "loose_text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<FunctionPart>,
}

#[derive(Deserialize, Default)]
pub(super) struct FunctionPart {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

impl FunctionPart {
    /// The arguments as text: some servers send the object itself instead of a text that holds it.
    pub(super) fn arguments(&self) -> Result<String, serde_json::Error> {
        match self.arguments.as_deref().map(RawValue::get) {
            None => Ok(String::new()),
            Some(text) if text.starts_with('"') => serde_json::from_str(text),
            Some(other) => Ok(other.into()),
        }
    }
}

fn loose_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn loose_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

/// An error field that says something; some servers send an empty one beside a good reply.
pub(super) fn real_error(error: Option<Value>) -> Option<Value> {
    error.filter(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    })
}

pub(super) fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" | "eos" | "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Unknown,
    }
}

/// `None` where the server did not count: a request of no tokens does not exist.
pub(super) fn usage_of(usage: &Value) -> Option<Usage> {
    let first = |paths: &[&str]| {
        let mut found = paths.iter().filter_map(|path| usage.pointer(path));
        found.find_map(Value::as_u64)
    };
    let input = first(&["/prompt_tokens", "/input_tokens"])?;
    let total = first(&["/total_tokens"]).unwrap_or(input);
    let output = first(&["/completion_tokens", "/output_tokens"])
        .unwrap_or_else(|| total.saturating_sub(input));
    let cached = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ]);
    (input > 0 || output > 0).then_some(Usage {
        input,
        output,
        cached: cached.unwrap_or(0).min(input),
    })
}
