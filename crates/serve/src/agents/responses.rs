//! `/v1/responses`.
//!
//! The server keeps no conversations: the client sends all that was said. What would need one that is kept is refused,
//! so that no client takes an answer for the continuation of something.

pub(super) mod wire;

use axum::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::RunAnswer;
use super::client::Ticket;
use super::conversation::{self, MessageContent, Role, Utterance};
use super::refusal::AgentRefusal;
use super::request::{self, AgentRequest, Streaming, WishedFormat};
use super::stream::{AnswerWriter, frame};
use wire::{
    OfItem, OfPart, OfResponse, OutputMessage, OutputText, PartBody, ResponseBody, ResponseError,
    ResponseEvent, message_id,
};

/// What of such a request has a meaning here.
#[derive(Debug, Deserialize)]
struct ResponsesBody {
    model: String,
    input: Option<GivenInput>,
    instructions: Option<String>,
    stream: Option<bool>,
    tools: Option<Vec<Value>>,
    text: Option<TextOptions>,
    format: Option<String>,
    previous_response_id: Option<Value>,
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

/// One thing that was said; what is no message is refused, but for reasoning.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Option<MessageContent>,
}

/// What an agent cannot do is refused rather than left aside.
pub(super) fn read(body: &[u8]) -> Result<AgentRequest, AgentRefusal> {
    let (body, digest): (ResponsesBody, _) = request::parse(body)?;
    if body.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err(conversation::calls_refused("tools"));
    }
    if body.previous_response_id.is_some() {
        return Err(whole_talk_wanted("previous_response_id"));
    }
    if body.conversation.is_some() {
        return Err(whole_talk_wanted("conversation"));
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
        digest,
    })
}

/// The client has to send what was said before.
fn whole_talk_wanted(param: &'static str) -> AgentRefusal {
    let message = format!("{param} is not supported; send what was said before in input");
    AgentRefusal::bad_request("not_supported", Some(param), message)
}

/// Instructions come first, as if they were a system message.
fn utterances(
    instructions: Option<String>,
    input: Option<GivenInput>,
) -> Result<Vec<Utterance>, AgentRefusal> {
    let mut utterances: Vec<Utterance> = instructions
        .into_iter()
        .map(|text| Utterance {
            role: Role::Instruction,
            text,
        })
        .collect();
    match input {
        None => {}
        Some(GivenInput::Text(text)) => utterances.push(Utterance {
            role: Role::User,
            text,
        }),
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
        Some(kind) if kind.contains("call") => return Err(conversation::calls_refused("input")),
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
    let text = content.into_text("input")?;
    Ok(Some(Utterance { role, text }))
}

/// The answer in one piece.
pub(super) fn whole<'a>(ticket: &'a Ticket, answer: &'a RunAnswer) -> ResponseBody<'a> {
    ResponseBody::completed(ticket, answer)
}

/// The answer as events.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) ticket: Ticket,
    /// How many were sent.
    pub(super) sent: u64,
}

/// An event of a response, with its number.
fn event(sent: &mut u64, kind: &str, body: &impl Serialize) -> Bytes {
    let event = ResponseEvent {
        kind,
        sequence_number: *sent,
        body,
    };
    *sent += 1;
    frame(Some(kind), &event)
}

/// An event about the part of the message that holds the text.
fn part_event(sent: &mut u64, ticket: &Ticket, kind: &str, body: PartBody<'_>) -> Bytes {
    let body = OfPart {
        item_id: message_id(ticket),
        output_index: 0,
        content_index: 0,
        body,
    };
    event(sent, kind, &body)
}

impl AnswerWriter for Events {
    fn opening(&mut self) -> Vec<Bytes> {
        let response = ResponseBody::new(&self.ticket, "in_progress");
        let begun = OfResponse { response };
        let sent = &mut self.sent;
        vec![
            event(sent, "response.created", &begun),
            event(sent, "response.in_progress", &begun),
        ]
    }

    /// The events have no place for it.
    fn progress(&mut self, _line: &str) -> Option<Bytes> {
        None
    }

    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes> {
        let (ticket, sent) = (&self.ticket, &mut self.sent);
        let text = &answer.content;
        let item = |item| OfItem {
            output_index: 0,
            item,
        };
        let part = |text| PartBody::Part {
            part: OutputText::new(text),
        };
        let logprobs = [];
        let delta = PartBody::Delta {
            delta: text,
            logprobs,
        };
        let done = PartBody::Done { text, logprobs };
        let response = whole(ticket, answer);
        vec![
            event(
                sent,
                "response.output_item.added",
                &item(OutputMessage::opened(ticket)),
            ),
            part_event(sent, ticket, "response.content_part.added", part("")),
            part_event(sent, ticket, "response.output_text.delta", delta),
            part_event(sent, ticket, "response.output_text.done", done),
            part_event(sent, ticket, "response.content_part.done", part(text)),
            event(
                sent,
                "response.output_item.done",
                &item(OutputMessage::completed(ticket, answer)),
            ),
            event(sent, "response.completed", &OfResponse { response }),
        ]
    }

    fn failed(&mut self, refusal: &AgentRefusal) -> Vec<Bytes> {
        let mut response = ResponseBody::new(&self.ticket, "failed");
        response.error = Some(ResponseError {
            code: refusal.code,
            message: &refusal.message,
        });
        vec![event(
            &mut self.sent,
            "response.failed",
            &OfResponse { response },
        )]
    }
}
