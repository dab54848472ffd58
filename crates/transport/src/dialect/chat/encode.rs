//! A request as bytes, written once and straight from what it borrows.

use bonded_kernel::{Message, Request};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::knobs::Knobs;
use super::messages::{Said, messages};
use crate::dialect::ids::Ids;
use crate::dialect::{Fitted, accepted_by};

/// The body of a request, with its tools as they were rendered.
pub(super) fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let accepts = accepted_by(target);
    let ids = Ids::of(request, &accepts);
    let tells_usage = target.stream && accepts.stream_usage;
    let body = Body {
        model: &target.model,
        messages: messages(request, &accepts, &ids),
        tools,
        knobs: Knobs::of(request, &accepts),
        stream: target.stream,
        stream_options: tells_usage.then_some(StreamOptions {
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

pub(super) fn render_tools(tools: &[Fitted<'_>], _: bool) -> Box<RawValue> {
    let tools: Vec<ToolOut<'_>> = tools
        .iter()
        .map(|tool| ToolOut {
            kind: "function",
            function: FunctionOut {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.schema,
            },
        })
        .collect();
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(flatten)]
    knobs: Knobs<'a>,
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
