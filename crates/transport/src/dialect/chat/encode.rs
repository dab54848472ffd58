//! A request as bytes, written once and straight from what it borrows.

use bonded_kernel::{Message, MessageCall, Request};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::NAME;
use super::knobs::Knobs;
use crate::dialect::signed;

/// The body of a request, with its tools as they were rendered.
pub fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let body = Body {
        model: &target.model,
        messages: Messages(request),
        tools,
        knobs: Knobs::of(request),
        stream: target.stream,
        stream_options: target.stream.then_some(StreamOptions {
            include_usage: true,
        }),
    };
    let tools_bytes = tools.map_or(0, |tools| tools.get().len());
    let mut bytes = Vec::with_capacity(size_hint(request) + tools_bytes);
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

pub(in crate::dialect) fn render_tools(request: &Request<'_>) -> Box<RawValue> {
    let tools: Vec<ToolOut<'_>> = request
        .tools()
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
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(flatten)]
    knobs: Knobs,
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
                Message::Assistant {
                    text,
                    signed,
                    calls,
                    ..
                } => {
                    let silent = text.is_empty() && !calls.is_empty();
                    // Only a router knows what to do with them.
                    let wanted = request.target.family() == "openrouter";
                    let details =
                        signed::items(NAME, request.target, signed.as_ref().filter(|_| wanted));
                    list.serialize_element(&Said {
                        content: (!silent).then_some(text),
                        tool_calls: Calls(calls),
                        reasoning_details: details,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
}

impl<'a> Said<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self {
            role,
            content: Some(content),
            tool_call_id: None,
            tool_calls: Calls(&[]),
            reasoning_details: Vec::new(),
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
