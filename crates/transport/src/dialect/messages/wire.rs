//! A reply, its events and its blocks as they stand on the wire.
//!
//! Strict where a wrong type would change what the model said, lenient where it only adorns it.

use bonded_kernel::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::loose::{self, first_count};

/// A whole reply, or the beginning of a streamed one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) content: Option<Vec<Block>>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// A block of any kind; each kind uses its own fields.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Block {
    #[serde(default, rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) signature: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) data: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) input: Option<Box<RawValue>>,
    /// The input as it came in pieces, which counts more.
    #[serde(skip)]
    pub(super) input_text: Option<String>,
}

impl Block {
    pub(super) fn is_text(&self) -> bool {
        self.kind.as_deref() == Some("text")
    }
}

/// An event of any kind; each kind uses its own fields.
#[derive(Deserialize)]
#[serde(expecting = "struct Event")]
pub(super) struct StreamedMessage {
    #[serde(default, rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "loose::number")]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) content_block: Option<Block>,
    #[serde(default)]
    pub(super) delta: Option<Delta>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// What an event adds to a block, or to the message.
#[derive(Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) partial_json: Option<String>,
    #[serde(default, deserialize_with = "loose::text")]
    pub(super) stop_reason: Option<String>,
}

pub(super) fn finish_of(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::ContentFilter,
        _ => Finish::Unknown,
    }
}

/// Tokens as they are counted while a reply streams: each count only grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    fresh: u64,
    cached: u64,
    written: u64,
    output: u64,
}

impl Counts {
    pub(super) fn take(&mut self, usage: &Value) {
        let count = |pointer: &str| first_count(usage, &[pointer]).unwrap_or(0);
        self.fresh = self.fresh.max(count("/input_tokens"));
        self.cached = self.cached.max(count("/cache_read_input_tokens"));
        self.written = self.written.max(count("/cache_creation_input_tokens"));
        self.output = self.output.max(count("/output_tokens"));
    }

    /// Here the fresh tokens are counted apart from those that the cache took or gave.
    pub(super) fn usage(self) -> Option<Usage> {
        let input = self.fresh.saturating_add(self.cached);
        let input = input.saturating_add(self.written);
        (input > 0 || self.output > 0).then_some(Usage {
            input,
            output: self.output,
            cached: self.cached,
            written: self.written,
        })
    }
}
