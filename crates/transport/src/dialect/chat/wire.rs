//! A reply, or a piece of one, as it stands on the wire. Whole and streamed replies share these shapes.
//!
//! Strict where a wrong type would change what the model said, lenient where it only adorns it.

use bonded_kernel::{Finish, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::arguments;
use crate::dialect::loose::{self, first_count};

/// A piece of a stream has a `delta` in its choices, a whole reply a `message`.
#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) object: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) model: Option<String>,
    /// Who answered, where the server is a router.
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) provider: Option<String>,
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// Only the one with index 0, or with none, is heard.
#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "loose::number")]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) delta: Option<MessageIn>,
    #[serde(default)]
    pub(super) message: Option<MessageIn>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// What the model said. Each field is its own, since some servers send two spellings of one at once.
// Failures in logs hold the name by which a message of another type was refused.
#[derive(Deserialize)]
#[serde(expecting = "struct Said")]
pub(super) struct MessageIn {
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default)]
    pub(super) reasoning: Option<Content>,
    #[serde(default)]
    pub(super) reasoning_content: Option<Content>,
    #[serde(default)]
    pub(super) reasoning_details: Option<Value>,
    #[serde(default)]
    pub(super) refusal: Option<Content>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallPart>>,
    #[serde(default)]
    pub(super) function_call: Option<FunctionPart>,
}

/// The order of the variants is the order in which they are tried. `Other` catches all else, so that a field
/// that only adorns cannot make a reply unreadable.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
    /// Some servers send JSON that was asked for as it is, instead of a text that holds it.
    Json(serde_json::Map<String, Value>),
    Other(IgnoredAny),
}

/// Parts that are no text, such as images, have none.
#[derive(Deserialize)]
pub(super) struct ContentPart {
    #[serde(default)]
    text: Option<String>,
}

impl Content {
    /// `None` for something that cannot be what a model said.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(parts) => Some(parts.into_iter().filter_map(|part| part.text).collect()),
            Self::Json(object) => Some(Value::Object(object).to_string()),
            Self::Other(_) => None,
        }
    }
}

/// A piece of a call, or a whole one.
#[derive(Deserialize)]
pub(super) struct CallPart {
    #[serde(default, deserialize_with = "loose::number")]
    pub(super) index: Option<u64>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<FunctionPart>,
}

/// Arguments are kept as they stand on the wire, where they are a text or an object.
#[derive(Deserialize, Default)]
pub(super) struct FunctionPart {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

impl FunctionPart {
    pub(super) fn arguments(&self) -> Result<String, serde_json::Error> {
        arguments::from_wire(self.arguments.as_deref())
    }
}

/// Other formats' words are known too, because gateways let them through.
pub(super) fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" | "end" | "eos" | "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Unknown,
    }
}

/// `None` where the server did not count: a request of no tokens does not exist.
///
/// Thoughts always count as output, wherever the server counts them: they are billed so. Cached and written
/// tokens are parts of the input and never more than it, whatever the server says.
pub(super) fn usage_of(usage: &Value) -> Option<Usage> {
    let first = |pointers: &[&str]| first_count(usage, pointers);
    let input = first(&["/prompt_tokens", "/input_tokens"])?;
    let total = first(&["/total_tokens"]).unwrap_or(input);
    let rest = total.saturating_sub(input);
    let completion = first(&["/completion_tokens", "/output_tokens"]).unwrap_or(rest);
    let thought = first(&[
        "/completion_tokens_details/reasoning_tokens",
        "/output_tokens_details/reasoning_tokens",
        "/reasoning_tokens",
    ]);
    let cached = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
        "/cache_read_input_tokens",
    ]);
    let written = first(&[
        "/prompt_tokens_details/cache_write_tokens",
        "/prompt_tokens_details/cache_creation_tokens",
        "/cache_creation_input_tokens",
    ]);
    // Some servers count thoughts beside what was said, and some count them nowhere but in the total.
    let is_apart = match thought {
        Some(thought) => completion.checked_add(thought) == Some(rest),
        None => cached.is_none() && written.is_none(),
    };
    let output = if is_apart {
        completion.max(rest)
    } else {
        completion
    };
    let cached = cached.unwrap_or(0).min(input);
    (input > 0 || output > 0).then_some(Usage {
        input,
        output,
        cached,
        written: written.unwrap_or(0).min(input - cached),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_other_formats_for_why_a_model_stopped_are_known() {
        for (finish, words) in [
            (
                Finish::Stop,
                &["stop", "end", "eos", "end_turn", "stop_sequence"][..],
            ),
            (
                Finish::ToolCalls,
                &["tool_calls", "function_call", "tool_use"],
            ),
            (Finish::Length, &["length", "max_tokens"]),
            (Finish::ContentFilter, &["content_filter"]),
            (Finish::Unknown, &["galaxy", "", "STOP"]),
        ] {
            for word in words {
                assert_eq!(finish_of(word), finish, "{word}");
            }
        }
    }
}
