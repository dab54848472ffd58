//! A reply, its items and its events as they stand on the wire.
//!
//! Strict where a wrong type would change what the model said, lenient where it only adorns it.

use bonded_kernel::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::loose::{self, first_count};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Response {
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) incomplete_details: Option<Value>,
    #[serde(default)]
    pub(super) output: Option<Vec<Item>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl Response {
    /// Why the model stopped, in the provider's word.
    pub(super) fn stop_reason(&self) -> Option<String> {
        let details = self.incomplete_details.as_ref();
        let reason = details.and_then(|details| details.get("reason")?.as_str());
        let reason = reason.filter(|_| self.status.as_deref() == Some("incomplete"));
        reason
            .or(self.status.as_deref())
            .filter(|reason| !reason.is_empty())
            .map(Into::into)
    }
}

/// An item of any kind; each kind uses its own fields.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Item {
    #[serde(default, rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) content: Option<Vec<Part>>,
    #[serde(default)]
    pub(super) summary: Option<Vec<Part>>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) encrypted_content: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) call_id: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) arguments: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) phase: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// An event of any kind. What it carries is read only where it is wanted.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(default, rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(default, borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// An item that has begun, as far as who watches is told of it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BegunItem {
    #[serde(default, rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) name: Option<String>,
}

/// An event with a piece of text.
#[derive(Deserialize)]
pub(super) struct TextDelta {
    #[serde(rename = "type")]
    kind: String,
    pub(super) delta: String,
}

impl TextDelta {
    pub(super) fn is_output(&self) -> bool {
        self.kind == "response.output_text.delta"
    }
}

pub(super) fn finish_of(reason: &str, has_calls: bool) -> Finish {
    match reason {
        "completed" if has_calls => Finish::ToolCalls,
        "completed" => Finish::Stop,
        "max_output_tokens" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Unknown,
    }
}

/// `None` where the server did not count: a request of no tokens does not exist.
pub(super) fn usage_of(usage: &Value) -> Option<Usage> {
    let input = first_count(usage, &["/input_tokens"])?;
    let output = first_count(usage, &["/output_tokens"]).unwrap_or(0);
    let cached = first_count(usage, &["/input_tokens_details/cached_tokens"]);
    let written = first_count(usage, &["/input_tokens_details/cache_write_tokens"]);
    let cached = cached.unwrap_or(0).min(input);
    (input > 0 || output > 0).then_some(Usage {
        input,
        output,
        cached,
        written: written.unwrap_or(0).min(input - cached),
    })
}
