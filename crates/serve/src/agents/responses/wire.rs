//! A response as OpenAI's clients read it, and the events by which it comes in pieces.
//!
//! The names are OpenAI's. Fields that can only be null are of the unit type.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::agents::answer::{HandedCall, RunAnswer};
use crate::agents::client::Ticket;

/// How the ids of responses begin; the name of the answer follows.
pub(super) const RESPONSE: &str = "resp_";

/// A response. What an agent does not take is there all the same, because clients look for it.
#[derive(Debug, Serialize)]
pub(crate) struct ResponseBody<'a> {
    /// Begins with `resp_` and names the run and the answer.
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Seconds since the Unix epoch.
    created_at: u64,
    /// `in_progress`, `completed` or `failed`.
    status: &'static str,
    /// Always false: an answer cannot be fetched later.
    background: bool,
    /// Why it failed, if it did.
    pub(super) error: Option<ResponseError<'a>>,
    incomplete_details: (),
    instructions: (),
    max_output_tokens: (),
    /// Always empty.
    metadata: BTreeMap<String, String>,
    /// The name that the client asked for.
    model: &'a str,
    /// Once there is an answer: what was told of the run, the message, and the calls for the client.
    output: Vec<OutputItem<'a>>,
    /// Always false: calls are the agent's own business.
    parallel_tool_calls: bool,
    previous_response_id: (),
    reasoning: ReasoningOptions,
    /// The run is kept in the store.
    store: bool,
    temperature: (),
    /// How the text comes.
    text: OutputOptions,
    /// Always `auto`: an agent decides itself.
    tool_choice: &'static str,
    /// Always empty.
    tools: [(); 0],
    top_p: (),
    /// Always `disabled`.
    truncation: &'static str,
    /// Once there is an answer.
    usage: Option<ResponseUsage>,
    user: (),
}

impl<'a> ResponseBody<'a> {
    /// A response of this status, with nothing in it yet.
    pub(super) fn new(ticket: &'a Ticket, status: &'static str) -> Self {
        Self {
            id: format!("{RESPONSE}{}", ticket.name()),
            object: "response",
            created_at: ticket.created,
            status,
            background: false,
            error: None,
            incomplete_details: (),
            instructions: (),
            max_output_tokens: (),
            metadata: BTreeMap::new(),
            model: &ticket.model,
            output: vec![],
            parallel_tool_calls: false,
            previous_response_id: (),
            reasoning: ReasoningOptions {
                effort: (),
                summary: (),
            },
            store: true,
            temperature: (),
            text: OutputOptions {
                format: OutputFormat { kind: "text" },
            },
            tool_choice: "auto",
            tools: [],
            top_p: (),
            truncation: "disabled",
            usage: None,
            user: (),
        }
    }

    /// With all that it came to.
    pub(super) fn completed(
        ticket: &'a Ticket,
        answer: &'a RunAnswer,
        told: Option<&'a str>,
    ) -> Self {
        let reasoning = told.map(|it| OutputItem::Reasoning(ReasoningItem::completed(ticket, it)));
        let message = OutputMessage::is_in(answer)
            .then(|| OutputItem::Message(OutputMessage::completed(ticket, answer)));
        let calls = answer.calls.iter().map(CallItem::completed);
        let mut output: Vec<OutputItem<'a>> = reasoning.into_iter().chain(message).collect();
        output.extend(calls.map(OutputItem::Call));
        Self {
            output,
            usage: Some(ResponseUsage::from(answer)),
            ..Self::new(ticket, "completed")
        }
    }
}

/// Why a response failed.
#[derive(Debug, Serialize)]
pub(super) struct ResponseError<'a> {
    /// The stable name.
    pub(super) code: &'a str,
    /// For people.
    pub(super) message: &'a str,
}

/// Always empty: agents decide that themselves.
#[derive(Debug, Serialize)]
struct ReasoningOptions {
    effort: (),
    summary: (),
}

/// How the text comes.
#[derive(Debug, Serialize)]
struct OutputOptions {
    format: OutputFormat,
}

/// Always `text`.
#[derive(Debug, Serialize)]
struct OutputFormat {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// What a response is made of.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutputItem<'a> {
    /// What was told of the run.
    Reasoning(ReasoningItem<'a>),
    /// The report, or what was said beside calls.
    Message(OutputMessage<'a>),
    /// A call that the client executes.
    Call(CallItem<'a>),
}

/// What was told of the run.
#[derive(Debug, Serialize)]
pub(super) struct ReasoningItem<'a> {
    /// Always `reasoning`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Begins with `rs_` and names the answer.
    id: String,
    /// One part, once all was told.
    summary: Vec<SummaryText<'a>>,
}

impl<'a> ReasoningItem<'a> {
    /// Without its text.
    pub(super) fn opened(ticket: &Ticket) -> Self {
        Self {
            kind: "reasoning",
            id: reasoning_id(ticket),
            summary: vec![],
        }
    }

    /// With its text.
    pub(super) fn completed(ticket: &Ticket, text: &'a str) -> Self {
        Self {
            summary: vec![SummaryText::new(text)],
            ..Self::opened(ticket)
        }
    }
}

/// The same for all events of one answer.
pub(super) fn reasoning_id(ticket: &Ticket) -> String {
    format!("rs_{}", ticket.name())
}

/// The one part of what was told.
#[derive(Debug, Serialize)]
pub(super) struct SummaryText<'a> {
    /// Always `summary_text`.
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> SummaryText<'a> {
    /// A part with this text.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            kind: "summary_text",
            text,
        }
    }
}

/// A call that the client executes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CallItem<'a> {
    /// Always `function_call`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The item's own id: the call's, with other first letters.
    id: String,
    /// To be sent back with the result.
    call_id: &'a str,
    /// The tool.
    name: &'a str,
    /// A text of JSON, once it is complete.
    arguments: &'a str,
    /// `in_progress` or `completed`.
    status: &'static str,
}

impl<'a> CallItem<'a> {
    /// Without its arguments.
    pub(super) fn opened(call: &'a HandedCall) -> Self {
        Self {
            kind: "function_call",
            id: format!("fc_{}", call.id),
            call_id: &call.id,
            name: &call.tool,
            arguments: "",
            status: "in_progress",
        }
    }

    /// With its arguments.
    pub(super) fn completed(call: &'a HandedCall) -> Self {
        Self {
            arguments: &call.arguments,
            status: "completed",
            ..Self::opened(call)
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// The message that holds the report.
#[derive(Debug, Serialize)]
pub(super) struct OutputMessage<'a> {
    /// Always `message`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Begins with `msg_` and names the answer.
    id: String,
    /// `in_progress` or `completed`.
    status: &'static str,
    /// Always `assistant`.
    role: &'static str,
    /// One part, once there is an answer.
    content: Vec<OutputText<'a>>,
}

impl<'a> OutputMessage<'a> {
    /// Whether an answer has a message: calls may stand alone.
    pub(super) fn is_in(answer: &RunAnswer) -> bool {
        !answer.content.is_empty() || answer.calls.is_empty()
    }

    /// Without its text.
    pub(super) fn opened(ticket: &Ticket) -> Self {
        Self {
            kind: "message",
            id: message_id(ticket),
            status: "in_progress",
            role: "assistant",
            content: vec![],
        }
    }

    /// With its text.
    pub(super) fn completed(ticket: &Ticket, answer: &'a RunAnswer) -> Self {
        Self {
            status: "completed",
            content: vec![OutputText::new(&answer.content)],
            ..Self::opened(ticket)
        }
    }
}

/// The same for all events of one answer.
pub(super) fn message_id(ticket: &Ticket) -> String {
    format!("msg_{}", ticket.name())
}

/// The one part of the message.
#[derive(Debug, Serialize)]
pub(super) struct OutputText<'a> {
    /// Always `output_text`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The report.
    text: &'a str,
    /// Always empty.
    annotations: [(); 0],
    /// Always empty.
    logprobs: [(); 0],
}

impl<'a> OutputText<'a> {
    /// A part with this text.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            kind: "output_text",
            text,
            annotations: [],
            logprobs: [],
        }
    }
}

/// Tokens as OpenAI counts them.
#[derive(Debug, Serialize)]
struct ResponseUsage {
    /// All that went to models.
    input_tokens: u64,
    input_tokens_details: InputTokensDetails,
    /// All that came from models.
    output_tokens: u64,
    output_tokens_details: OutputTokensDetails,
    /// Both together.
    total_tokens: u64,
}

/// A part of the count of the input.
#[derive(Debug, Serialize)]
struct InputTokensDetails {
    cached_tokens: u64,
}

/// A part of the count of the output.
#[derive(Debug, Serialize)]
struct OutputTokensDetails {
    /// Always 0: it is not counted apart.
    reasoning_tokens: u64,
}

impl From<&RunAnswer> for ResponseUsage {
    fn from(answer: &RunAnswer) -> Self {
        let usage = &answer.usage;
        Self {
            input_tokens: usage.input,
            input_tokens_details: InputTokensDetails {
                cached_tokens: usage.cached,
            },
            output_tokens: usage.output,
            output_tokens_details: OutputTokensDetails {
                reasoning_tokens: 0,
            },
            total_tokens: usage.total(),
        }
    }
}

/// An event, with its place among the others.
#[derive(Debug, Serialize)]
pub(super) struct ResponseEvent<'a, T> {
    /// The name of the event.
    #[serde(rename = "type")]
    pub(super) kind: &'a str,
    /// From 0 on, without gaps.
    pub(super) sequence_number: u64,
    /// What the event says.
    #[serde(flatten)]
    pub(super) body: &'a T,
}

/// An event about the whole response.
#[derive(Debug, Serialize)]
pub(super) struct OfResponse<'a> {
    /// As it stands.
    pub(super) response: ResponseBody<'a>,
}

/// An event about an item.
#[derive(Debug, Serialize)]
pub(super) struct OfItem<'a> {
    /// Its place in the response.
    pub(super) output_index: usize,
    /// As it stands.
    pub(super) item: OutputItem<'a>,
}

/// An event about the arguments of a call.
#[derive(Debug, Serialize)]
pub(super) struct OfArguments<'a> {
    /// The item of the call.
    pub(super) item_id: &'a str,
    /// Its place in the response.
    pub(super) output_index: usize,
    /// What is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delta: Option<&'a str>,
    /// The whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
}

/// An event about what is told of the run.
#[derive(Debug, Serialize)]
pub(super) struct OfSummary<'a> {
    /// The item.
    pub(super) item_id: String,
    /// Always 0: it comes first.
    pub(super) output_index: usize,
    /// Always 0.
    pub(super) summary_index: usize,
    /// What the event says.
    #[serde(flatten)]
    pub(super) body: SummaryBody<'a>,
}

/// What such an event says.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum SummaryBody<'a> {
    /// The part begins or is complete.
    Part { part: SummaryText<'a> },
    /// Text that is added.
    Delta { delta: &'a str },
    /// The text is complete.
    Done { text: &'a str },
}

/// An event about the part of the message that holds the text.
#[derive(Debug, Serialize)]
pub(super) struct OfPart<T> {
    /// The message.
    pub(super) item_id: String,
    /// Its place in the response.
    pub(super) output_index: usize,
    /// Always 0.
    pub(super) content_index: u32,
    /// What it says of the part.
    #[serde(flatten)]
    pub(super) body: T,
}

/// What such an event says.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PartBody<'a> {
    /// The part begins or is complete.
    Part { part: OutputText<'a> },
    /// Text that is added.
    Delta { delta: &'a str, logprobs: [(); 0] },
    /// The text is complete.
    Done { text: &'a str, logprobs: [(); 0] },
}
