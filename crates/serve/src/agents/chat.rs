//! `/v1/chat/completions`.

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
struct ChatBody {
    model: String,
    messages: Vec<ChatMessage>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u64>,
    tools: Option<Vec<Value>>,
    functions: Option<Vec<Value>>,
    response_format: Option<WishedFormat>,
    format: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ChatMessage {
    role: String,
    content: Option<MessageContent>,
    tool_calls: Option<Vec<Value>>,
    function_call: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    include_progress: Option<bool>,
}

pub(super) fn read(body: &[u8]) -> Result<AgentRequest, Refusal> {
    let (body, digest): (ChatBody, _) = request::parse(body)?;
    if body.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err(conversation::calls_refused("tools"));
    }
    if body
        .functions
        .is_some_and(|functions| !functions.is_empty())
    {
        return Err(conversation::calls_refused("functions"));
    }
    if body.n.is_some_and(|n| n != 1) {
        let message = "an agent gives one answer; leave n out, or send 1";
        return Err(Refusal::bad_request("one_answer_only", Some("n"), message));
    }
    let utterances = body.messages.into_iter().map(utterance);
    let options = body.stream_options.unwrap_or_default();
    Ok(AgentRequest {
        model: body.model,
        utterances: utterances.collect::<Result<_, _>>()?,
        param: "messages",
        wish: request::wish(
            body.response_format,
            "response_format",
            body.format.as_deref(),
        )?,
        stream: body.stream.unwrap_or_default().then(|| Streaming {
            usage: options.include_usage.unwrap_or_default(),
            progress: options.include_progress.unwrap_or_default(),
        }),
        digest,
    })
}

fn utterance(message: ChatMessage) -> Result<Utterance, Refusal> {
    let role = conversation::role(&message.role, "messages")?;
    let calls = message.tool_calls.is_some_and(|calls| !calls.is_empty());
    if calls || message.function_call.is_some() {
        return Err(conversation::calls_refused("messages"));
    }
    let text = match message.content {
        Some(content) => content.into_text("messages")?,
        None if role == Role::Assistant => String::new(),
        None => {
            let message = format!("a message of the {} has no content", message.role);
            return Err(Refusal::bad_request(
                "no_content",
                Some("messages"),
                message,
            ));
        }
    };
    Ok(Utterance { role, text })
}

/// The answer in one piece.
pub(super) fn whole(ticket: &Ticket, answer: &RunAnswer) -> Value {
    json!({
        "id": id(ticket),
        "object": "chat.completion",
        "created": ticket.created,
        "model": ticket.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": answer.content, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(answer),
    })
}

fn id(ticket: &Ticket) -> String {
    format!("chatcmpl-{}", ticket.run)
}

fn usage(answer: &RunAnswer) -> Value {
    let usage = &answer.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cached },
    })
}

/// The answer in chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) ticket: Ticket,
    pub(super) with_usage: bool,
}

impl Chunks {
    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Bytes {
        let choice = json!({
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason,
        });
        self.chunk_of(&json!([choice]), Value::Null)
    }

    fn chunk_of(&self, choices: &Value, usage: Value) -> Bytes {
        let mut chunk = json!({
            "id": id(&self.ticket),
            "object": "chat.completion.chunk",
            "created": self.ticket.created,
            "model": self.ticket.model,
            "choices": choices,
        });
        if self.with_usage {
            chunk["usage"] = usage;
        }
        frame(None, &chunk)
    }
}

impl AnswerWriter for Chunks {
    fn opening(&mut self) -> Vec<Bytes> {
        vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn progress(&mut self, line: &str) -> Option<Bytes> {
        let delta = json!({ "reasoning_content": format!("{line}\n") });
        Some(self.chunk(&delta, None))
    }

    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes> {
        let mut chunks = vec![
            self.chunk(&json!({ "content": answer.content }), None),
            self.chunk(&json!({}), Some("stop")),
        ];
        if self.with_usage {
            chunks.push(self.chunk_of(&json!([]), usage(answer)));
        }
        chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
        chunks
    }

    /// Clients take an event with an error for the end of the stream and raise it.
    fn failed(&mut self, refusal: &Refusal) -> Vec<Bytes> {
        vec![frame(None, &refusal.body())]
    }
}
