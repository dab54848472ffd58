//! A request as bytes, written once and straight from what it borrows.
//!
//! The body of a long conversation is megabytes, and it is made anew in every turn. So nothing of it is copied
//! into a tree of values: the shapes here borrow from the request and are written into one buffer of about the
//! right size.

use bonded_kernel::{Message, Request};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::knobs::Knobs;
use super::messages::{MessageOut, messages};
use crate::dialect::ids::Ids;
use crate::dialect::{Fitted, accepted_by};

/// The body of a request, with its tools as they were rendered.
pub(super) fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let accepts = accepted_by(target);
    let ids = Ids::of(request, &accepts);
    let tells_usage = target.stream && accepts.stream_usage;
    let body = ChatBody {
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
        Message::User { text, images } | Message::Tool { text, images, .. } => {
            let images = images
                .iter()
                .map(|it| it.blob().bytes as usize * 4 / 3 + 128);
            text.len() + images.sum::<usize>()
        }
        Message::Assistant { text, calls, .. } => {
            let arguments = calls.iter().map(|call| call.arguments.len() + 128);
            text.len() + arguments.sum::<usize>()
        }
    });
    let texts = request.system.len() + messages.sum::<usize>();
    512 + texts + texts / 8 + 96 * request.messages.len()
}

/// The flag for a cache is not used: the format has no field for it.
pub(super) fn render_tools(tools: &[Fitted<'_>], _: bool) -> Box<RawValue> {
    let tools: Vec<ChatToolOut<'_>> = tools
        .iter()
        .map(|tool| ChatToolOut {
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

/// The fields stand in the order in which they are written. The notices, which change with every request, are
/// the last message, so that what stands before them stays the same.
#[derive(Serialize)]
struct ChatBody<'a> {
    model: &'a str,
    messages: Vec<MessageOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(flatten)]
    knobs: Knobs<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// Without it, many servers do not count the tokens of a stream.
#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A tool as it is declared.
#[derive(Serialize)]
struct ChatToolOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionOut<'a>,
}

/// Name, description and schema are those that were made to fit.
#[derive(Serialize)]
struct FunctionOut<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}
