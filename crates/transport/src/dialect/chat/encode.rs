//! A request as bytes, written once and straight from what it borrows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{Catalog, Hash, Message, MessageCall, Request};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// So many catalogues are kept; a process drives few kinds of runs at a time.
const CATALOGS_MAX: usize = 64;

/// The body of a request. Its tools are rendered anew; a sender of many requests keeps a [`ToolsCache`].
pub fn encode(request: &Request<'_>) -> Vec<u8> {
    encode_with_tools(request, &render_tools(request.catalog))
}

/// The body of a request, with the tools of its catalogue as [`ToolsCache::tools`] gave them.
pub fn encode_with_tools(request: &Request<'_>, tools: &RawValue) -> Vec<u8> {
    let target = request.target;
    let (max_tokens, max_completion_tokens) = match target.provider.as_str() {
        "openai" => (None, Some(request.output_tokens_max)),
        _ => (Some(request.output_tokens_max), None),
    };
    let body = Body {
        model: &target.model,
        messages: Messages(request),
        tools,
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature.filter(|value| value.is_finite()),
        stream: target.stream,
        stream_options: target.stream.then_some(StreamOptions {
            include_usage: true,
        }),
    };
    let mut bytes = Vec::with_capacity(size_hint(request) + tools.get().len());
    serde_json::to_writer(&mut bytes, &body)
        .expect("every key is a string and writing to memory does not fail");
    bytes
}

/// A little more than the texts themselves, so that the buffer seldom grows.
fn size_hint(request: &Request<'_>) -> usize {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text } | Message::Tool { text, .. } => text.len(),
        Message::Assistant { text, calls, .. } => {
            let arguments = calls.iter().map(|call| call.arguments.len() + 128);
            text.len() + arguments.sum::<usize>()
        }
    });
    let texts = request.system.len() + messages.sum::<usize>();
    512 + texts + texts / 8 + 96 * request.messages.len()
}

/// The tools of catalogues as they stand in a request, each rendered once.
#[derive(Debug, Default)]
pub struct ToolsCache(Mutex<BTreeMap<Hash, Arc<RawValue>>>);

impl ToolsCache {
    pub fn tools(&self, catalog: &Catalog) -> Arc<RawValue> {
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = kept.get(&catalog.hash()) {
            return Arc::clone(tools);
        }
        if kept.len() >= CATALOGS_MAX {
            kept.clear();
        }
        let tools: Arc<RawValue> = render_tools(catalog).into();
        kept.insert(catalog.hash(), Arc::clone(&tools));
        tools
    }
}

fn render_tools(catalog: &Catalog) -> Box<RawValue> {
    let tools: Vec<ToolOut<'_>> = catalog
        .specs()
        .map(|spec| ToolOut {
            kind: "function",
            function: FunctionOut {
                name: &spec.name,
                description: &spec.description,
                parameters: &spec.schema,
            },
        })
        .collect();
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    tools: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ToolOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionOut<'a>,
}

#[derive(Serialize)]
struct FunctionOut<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// The system text, the conversation, and the notices as one last message.
struct Messages<'a>(&'a Request<'a>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let mut list = serializer.serialize_seq(None)?;
        if !request.system.is_empty() {
            list.serialize_element(&Said::new("system", request.system))?;
        }
        for message in request.messages {
            match message {
                Message::User { text } => list.serialize_element(&Said::new("user", text))?,
                Message::Tool { call_id, text } => list.serialize_element(&Said {
                    tool_call_id: Some(call_id),
                    ..Said::new("tool", text)
                })?,
                Message::Assistant { text, calls, .. } => {
                    let silent = text.is_empty() && !calls.is_empty();
                    list.serialize_element(&Said {
                        content: (!silent).then_some(text),
                        tool_calls: Calls(calls),
                        ..Said::new("assistant", "")
                    })?;
                }
            }
        }
        if !request.notices.is_empty() {
            let notices = request.notices.join("\n");
            list.serialize_element(&Said::new("user", &notices))?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Calls::is_empty")]
    tool_calls: Calls<'a>,
}

impl<'a> Said<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self {
            role,
            content: Some(content),
            tool_call_id: None,
            tool_calls: Calls(&[]),
        }
    }
}

struct Calls<'a>(&'a [MessageCall]);

impl Calls<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|call| CallOut {
            id: &call.id,
            kind: "function",
            function: CallFunctionOut {
                name: &call.tool,
                arguments: &call.arguments,
            },
        }))
    }
}

#[derive(Serialize)]
struct CallOut<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallFunctionOut<'a>,
}

#[derive(Serialize)]
struct CallFunctionOut<'a> {
    name: &'a str,
    arguments: &'a str,
}
