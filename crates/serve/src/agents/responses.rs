//! `/v1/responses`.
//!
//! The server keeps no conversations: the client sends all that was said, or names the response whose calls it executed.
//! What would need more is refused, so that no client takes an answer for the continuation of something.

pub(super) mod events;
pub(super) mod wire;

use bonded_kernel::RunId;
use serde::Deserialize;
use serde_json::Value;

use super::answer::RunAnswer;
use super::client::Ticket;
use super::client_tools::GivenTools;
use super::conversation::{self, MessageContent, Role, SaidCall, Utterance};
use super::refusal::AgentRefusal;
use super::request::{self, AgentRequest, Streaming, WishedFormat};
pub(super) use events::Events;
use wire::{RESPONSE, ResponseBody};

/// What of such a request has a meaning here.
#[derive(Debug, Deserialize)]
struct ResponsesBody {
    model: String,
    input: Option<GivenInput>,
    instructions: Option<String>,
    stream: Option<bool>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    text: Option<TextOptions>,
    format: Option<String>,
    previous_response_id: Option<String>,
    conversation: Option<Value>,
    background: Option<bool>,
}

/// Where the wish for a format stands.
#[derive(Debug, Deserialize)]
struct TextOptions {
    format: Option<WishedFormat>,
}

/// Everything that was said.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "input must be a text or a list of items")]
enum GivenInput {
    Text(String),
    Items(Vec<Item>),
}

/// One thing that was said, or a call, or what it returned; anything else is refused, but for reasoning.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Option<Value>,
    call_id: Option<String>,
    name: Option<String>,
    #[serde(alias = "input")]
    arguments: Option<String>,
    output: Option<MessageContent>,
}

/// What an agent cannot do is refused rather than left aside.
pub(super) fn read(body: &[u8]) -> Result<AgentRequest, AgentRefusal> {
    let (body, digest): (ResponsesBody, _) = request::parse(body)?;
    if body.conversation.is_some() {
        let message = "conversation is not supported; send what was said before in input";
        return Err(AgentRefusal::bad_request(
            "not_supported",
            Some("conversation"),
            message,
        ));
    }
    if body.background == Some(true) {
        let message = "an answer cannot be fetched later; leave background out";
        return Err(AgentRefusal::bad_request(
            "not_supported",
            Some("background"),
            message,
        ));
    }
    let wished = body.text.and_then(|text| text.format);
    Ok(AgentRequest {
        model: body.model,
        utterances: utterances(body.instructions, body.input)?,
        param: "input",
        wish: request::wish(wished, "text.format", body.format.as_deref())?,
        stream: body.stream.unwrap_or_default().then(Streaming::default),
        tools: GivenTools {
            tools: body.tools.unwrap_or_default(),
            choice: body.tool_choice,
            parallel: body.parallel_tool_calls.unwrap_or(true),
        },
        previous: body
            .previous_response_id
            .as_deref()
            .map(previous)
            .transpose()?,
        digest,
    })
}

/// The run that gave the response before.
fn previous(id: &str) -> Result<RunId, AgentRefusal> {
    let run = id.strip_prefix(RESPONSE).and_then(Ticket::run_of);
    run.ok_or_else(|| {
        let message = "previous_response_id is not the id of a response of this server";
        let param = Some("previous_response_id");
        AgentRefusal::bad_request("not_supported", param, message)
    })
}

/// Instructions come first, as if they were a system message.
fn utterances(
    instructions: Option<String>,
    input: Option<GivenInput>,
) -> Result<Vec<Utterance>, AgentRefusal> {
    let mut utterances: Vec<Utterance> = instructions
        .into_iter()
        .map(|text| Utterance::said(Role::Instruction, text))
        .collect();
    match input {
        None => {}
        Some(GivenInput::Text(text)) => utterances.push(Utterance::said(Role::User, text)),
        Some(GivenInput::Items(items)) => {
            for item in items {
                utterances.extend(utterance(item)?);
            }
        }
    }
    Ok(utterances)
}

/// None for what is no part of what was said.
fn utterance(item: Item) -> Result<Option<Utterance>, AgentRefusal> {
    match item.kind.as_deref() {
        None | Some("message") => {}
        // What a model thought is no part of what it said.
        Some("reasoning") => return Ok(None),
        Some("function_call" | "custom_tool_call") => return call(item).map(Some),
        Some("function_call_output" | "custom_tool_call_output") => {
            return returned(item).map(Some);
        }
        Some(kind) => {
            let message = format!("an item of type {kind:?} cannot be given to an agent");
            return Err(AgentRefusal::bad_request(
                "unsupported_content",
                Some("input"),
                message,
            ));
        }
    }
    let role = conversation::role(item.role.as_deref().unwrap_or("user"), "input")?;
    let Some(content) = item.content else {
        let message = "a message of the input has no content";
        return Err(AgentRefusal::bad_request(
            "no_content",
            Some("input"),
            message,
        ));
    };
    let content = MessageContent::deserialize(content).map_err(|error| {
        let message = format!("the content of a message cannot be read: {error}");
        AgentRefusal::bad_request("bad_body", Some("input"), message)
    })?;
    content.said_by(role, "input").map(Some)
}

/// A call that the client repeats.
fn call(item: Item) -> Result<Utterance, AgentRefusal> {
    let id = item
        .call_id
        .ok_or_else(|| conversation::no_call_id("input"))?;
    let call = SaidCall {
        id,
        tool: item.name.unwrap_or_default(),
        arguments: item.arguments.unwrap_or_default(),
    };
    Ok(Utterance::calling(String::new(), vec![call]))
}

/// What a call returned.
fn returned(item: Item) -> Result<Utterance, AgentRefusal> {
    let id = item
        .call_id
        .ok_or_else(|| conversation::no_call_id("input"))?;
    let text = item.output.map(MessageContent::into_result);
    Ok(Utterance::returned(id, text.unwrap_or_default()))
}

/// The answer in one piece.
pub(super) fn whole<'a>(ticket: &'a Ticket, answer: &'a RunAnswer) -> ResponseBody<'a> {
    ResponseBody::completed(ticket, answer, None)
}
