//! `/v1/chat/completions`.
//!
//! A chat is read into the same request as a response is. Fields that would mean nothing here but change what the
//! client expects are refused; all others are left aside, because clients send many. An answer is the report, or the
//! calls that the client executes.

pub(super) mod wire;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::answer::RunAnswer;
use super::client::Ticket;
use super::client_tools::GivenTools;
use super::conversation::{self, MessageContent, Role, SaidCall, Utterance};
use super::refusal::AgentRefusal;
use super::request::{self, AgentRequest, Streaming, WishedFormat};
use super::stream::{AnswerWriter, frame};
use wire::{
    ChatCompletion, ChunkChoice, ChunkDelta, CompletionChoice, CompletionChunk, CompletionMessage,
    CompletionUsage, ToolCall,
};

/// What of a chat request has a meaning here.
#[derive(Debug, Deserialize)]
struct ChatBody {
    model: String,
    messages: Vec<ChatMessage>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u64>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    functions: Option<Vec<Value>>,
    response_format: Option<WishedFormat>,
    format: Option<String>,
}

/// One message; what is neither text nor an image is refused.
#[derive(Debug, Deserialize)]
struct ChatMessage {
    role: String,
    content: Option<MessageContent>,
    tool_calls: Option<Vec<ChatCall>>,
    tool_call_id: Option<String>,
    function_call: Option<Value>,
}

/// A call that the client repeats.
#[derive(Debug, Deserialize)]
struct ChatCall {
    id: String,
    #[serde(alias = "custom")]
    function: CalledFunction,
}

/// What was called, with arguments as a text of JSON.
#[derive(Debug, Deserialize)]
struct CalledFunction {
    name: String,
    #[serde(alias = "input")]
    arguments: String,
}

/// How the answer is streamed; `include_progress` is ours.
#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    include_progress: Option<bool>,
}

/// What an agent cannot do, such as to give several answers, is refused rather than left aside.
pub(super) fn read(body: &[u8]) -> Result<AgentRequest, AgentRefusal> {
    let (body, digest): (ChatBody, _) = request::parse(body)?;
    if body
        .functions
        .is_some_and(|functions| !functions.is_empty())
    {
        return Err(conversation::calls_refused("functions"));
    }
    if body.n.is_some_and(|n| n != 1) {
        let message = "an agent gives one answer; leave n out, or send 1";
        return Err(AgentRefusal::bad_request(
            "one_answer_only",
            Some("n"),
            message,
        ));
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
        tools: GivenTools {
            tools: body.tools.unwrap_or_default(),
            choice: body.tool_choice,
            parallel: body.parallel_tool_calls.unwrap_or(true),
        },
        previous: None,
        digest,
    })
}

/// Only an assistant's message may be without content.
fn utterance(message: ChatMessage) -> Result<Utterance, AgentRefusal> {
    let role = conversation::role(&message.role, "messages")?;
    if message.function_call.is_some() {
        return Err(conversation::calls_refused("messages"));
    }
    if role == Role::Tool {
        let Some(call) = message.tool_call_id else {
            return Err(conversation::no_call_id("messages"));
        };
        let text = message.content.map(MessageContent::into_result);
        return Ok(Utterance::returned(call, text.unwrap_or_default()));
    }
    let said = match message.content {
        Some(content) => content.said_by(role, "messages")?,
        None if role == Role::Assistant => Utterance::said(role, String::new()),
        None => {
            let message = format!("a message of the {} has no content", message.role);
            return Err(AgentRefusal::bad_request(
                "no_content",
                Some("messages"),
                message,
            ));
        }
    };
    let calls = message.tool_calls.unwrap_or_default().into_iter();
    let calls = calls.map(|call| SaidCall {
        id: call.id,
        tool: call.function.name,
        arguments: call.function.arguments,
    });
    Ok(match role {
        Role::Assistant => Utterance::calling(said.text, calls.collect()),
        _ => said,
    })
}

/// The answer in one piece.
pub(super) fn whole<'a>(ticket: &'a Ticket, answer: &'a RunAnswer) -> ChatCompletion<'a> {
    ChatCompletion {
        id: id(ticket),
        object: "chat.completion",
        created: ticket.created,
        model: &ticket.model,
        choices: [CompletionChoice {
            index: 0,
            message: CompletionMessage {
                role: "assistant",
                content: (!answer.content.is_empty() || answer.calls.is_empty())
                    .then_some(&answer.content),
                refusal: (),
                tool_calls: tool_calls(answer),
            },
            logprobs: (),
            finish_reason: finish_reason(answer),
        }],
        usage: answer.into(),
    }
}

/// The calls that the client executes.
fn tool_calls(answer: &RunAnswer) -> Vec<ToolCall<'_>> {
    let calls = answer.calls.iter().enumerate();
    calls.map(|(at, call)| ToolCall::new(at, call)).collect()
}

/// A run that neither reported nor handed calls out is an error.
fn finish_reason(answer: &RunAnswer) -> &'static str {
    match answer.calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    }
}

/// Names the run, so that a person can find it.
fn id(ticket: &Ticket) -> String {
    format!("chatcmpl-{}", ticket.name())
}

/// The answer in chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) ticket: Ticket,
    pub(super) with_usage: bool,
}

impl Chunks {
    /// A chunk with one choice, as all but the last have.
    fn chunk(&self, delta: ChunkDelta<'_>, finish_reason: Option<&'static str>) -> Bytes {
        let choice = ChunkChoice {
            index: 0,
            delta,
            logprobs: (),
            finish_reason,
        };
        self.chunk_of(&[choice], None)
    }

    /// The usage is in a chunk without choices, as OpenAI sends it.
    fn chunk_of(&self, choices: &[ChunkChoice<'_>], usage: Option<CompletionUsage>) -> Bytes {
        let chunk = CompletionChunk {
            id: id(&self.ticket),
            object: "chat.completion.chunk",
            created: self.ticket.created,
            model: &self.ticket.model,
            choices,
            usage: self.with_usage.then_some(usage),
        };
        frame(None, &chunk)
    }
}

impl AnswerWriter for Chunks {
    /// The role comes before any text.
    fn opening(&mut self) -> Vec<Bytes> {
        let delta = ChunkDelta {
            role: Some("assistant"),
            content: Some(""),
            ..ChunkDelta::default()
        };
        vec![self.chunk(delta, None)]
    }

    /// As reasoning, which clients show apart from the answer.
    fn progress(&mut self, line: &str) -> Vec<Bytes> {
        let delta = ChunkDelta {
            reasoning_content: Some(format!("{line}\n")),
            ..ChunkDelta::default()
        };
        vec![self.chunk(delta, None)]
    }

    /// The report comes in one piece: it was accepted as a whole, and nothing of it leaves before. So do calls.
    fn answered(&mut self, answer: &RunAnswer) -> Vec<Bytes> {
        let text = ChunkDelta {
            content: Some(&answer.content),
            ..ChunkDelta::default()
        };
        let mut chunks = vec![];
        if !answer.content.is_empty() || answer.calls.is_empty() {
            chunks.push(self.chunk(text, None));
        }
        for call in tool_calls(answer) {
            let delta = ChunkDelta {
                tool_calls: Some([call]),
                ..ChunkDelta::default()
            };
            chunks.push(self.chunk(delta, None));
        }
        chunks.push(self.chunk(ChunkDelta::default(), Some(finish_reason(answer))));
        if self.with_usage {
            chunks.push(self.chunk_of(&[], Some(answer.into())));
        }
        chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
        chunks
    }

    /// Clients take an event with an error for the end of the stream and raise it.
    fn failed(&mut self, refusal: &AgentRefusal) -> Vec<Bytes> {
        vec![frame(None, &refusal.body())]
    }
}
