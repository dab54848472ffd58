//! `/v1/responses`.

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::RunAnswer;
use super::client::Ticket;
use super::conversation::{self, MessageContent, Role, Utterance};
use super::refusal::Refusal;
use super::request::{self, AgentRequest, Streaming, WishedFormat};
use super::stream::{AnswerWriter, frame};

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

#[derive(Debug, Deserialize)]
struct TextOptions {
    format: Option<WishedFormat>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "input must be a text or a list of items")]
enum GivenInput {
    Text(String),
    Items(Vec<Item>),
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Option<MessageContent>,
}

pub(super) fn read(body: &[u8]) -> Result<AgentRequest, Refusal> {
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
        return Err(Refusal::bad_request(
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

fn whole_talk_wanted(param: &'static str) -> Refusal {
    let message = format!("{param} is not supported; send what was said before in input");
    Refusal::bad_request("not_supported", Some(param), message)
}

fn utterances(
    instructions: Option<String>,
    input: Option<GivenInput>,
) -> Result<Vec<Utterance>, Refusal> {
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

fn utterance(item: Item) -> Result<Option<Utterance>, Refusal> {
    match item.kind.as_deref() {
        None | Some("message") => {}
        // What a model thought is no part of what it said.
        Some("reasoning") => return Ok(None),
        Some(kind) if kind.contains("call") => return Err(conversation::calls_refused("input")),
        Some(kind) => {
            let message = format!("an item of type {kind:?} cannot be given to an agent");
            return Err(Refusal::bad_request(
                "unsupported_content",
                Some("input"),
                message,
            ));
        }
    }
    let role = conversation::role(item.role.as_deref().unwrap_or("user"), "input")?;
    let Some(content) = item.content else {
        let message = "a message of the input has no content";
        return Err(Refusal::bad_request("no_content", Some("input"), message));
    };
    let text = content.into_text("input")?;
    Ok(Some(Utterance { role, text }))
}

/// The answer in one piece.
pub(super) fn whole(ticket: &Ticket, answer: &RunAnswer) -> Value {
    response(
        ticket,
        "completed",
        &json!([message(ticket, answer)]),
        &usage(answer),
    )
}

fn response(ticket: &Ticket, status: &str, output: &Value, usage: &Value) -> Value {
    json!({
        "id": format!("resp_{}", ticket.run),
        "object": "response",
        "created_at": ticket.created,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": ticket.model,
        "output": output,
        "parallel_tool_calls": false,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "store": true,
        "temperature": null,
        "text": { "format": { "type": "text" } },
        "tool_choice": "none",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "usage": usage,
        "user": null,
    })
}

fn message_id(ticket: &Ticket) -> String {
    format!("msg_{}", ticket.run)
}

fn message(ticket: &Ticket, answer: &RunAnswer) -> Value {
    json!({
        "type": "message", "id": message_id(ticket), "status": "completed", "role": "assistant",
        "content": [part(&answer.content)],
    })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn usage(answer: &RunAnswer) -> Value {
    let usage = &answer.usage;
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.total(),
    })
}

/// The answer as events.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) ticket: Ticket,
    /// How many were told.
    pub(super) sent: u64,
}

impl Events {
    fn event(&mut self, kind: &str, mut body: Value) -> Bytes {
        body["type"] = kind.into();
        body["sequence_number"] = self.sent.into();
        self.sent += 1;
        frame(Some(kind), &body)
    }

    /// An event about the part of the message that holds the text.
    fn part_event(&mut self, kind: &str, mut body: Value) -> Bytes {
        body["item_id"] = message_id(&self.ticket).into();
        body["output_index"] = 0.into();
        body["content_index"] = 0.into();
        self.event(kind, body)
    }
}

impl AnswerWriter for Events {
    fn opening(&mut self) -> Vec<Bytes> {
        let begun = response(&self.ticket, "in_progress", &json!([]), &Value::Null);
        let begun = json!({ "response": begun });
        vec![
            self.event("response.created", begun.clone()),
            self.event("response.in_progress", begun),
        ]
    }

    /// The events have no place for it.
    fn progress(&mut self, _line: &str) -> Option<Bytes> {
        None
    }

    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes> {
        let text = &answer.content;
        let opened = json!({
            "type": "message", "id": message_id(&self.ticket), "status": "in_progress",
            "role": "assistant", "content": [],
        });
        let closed = message(&self.ticket, answer);
        let item = |item: Value| json!({ "output_index": 0, "item": item });
        vec![
            self.event("response.output_item.added", item(opened)),
            self.part_event("response.content_part.added", json!({ "part": part("") })),
            self.part_event(
                "response.output_text.delta",
                json!({ "delta": text, "logprobs": [] }),
            ),
            self.part_event(
                "response.output_text.done",
                json!({ "text": text, "logprobs": [] }),
            ),
            self.part_event("response.content_part.done", json!({ "part": part(text) })),
            self.event("response.output_item.done", item(closed)),
            self.event(
                "response.completed",
                json!({ "response": whole(&self.ticket, answer) }),
            ),
        ]
    }

    fn failed(&mut self, refusal: &Refusal) -> Vec<Bytes> {
        let mut failed = response(&self.ticket, "failed", &json!([]), &Value::Null);
        failed["error"] = json!({ "code": refusal.code, "message": refusal.message });
        vec![self.event("response.failed", json!({ "response": failed }))]
    }
}
