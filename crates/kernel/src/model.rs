//! What goes to a model and what comes back, in the words of no provider.
//!
//! The transport turns a [`Request`] into the words of a provider, and what comes back into a [`Reply`] or a [`Failure`]. Both
//! are what a stranger says: they are checked before anything follows from them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Target, ToolChoice};
use crate::image::Image;
use crate::money::Money;
use crate::text::Text;
use crate::tool::{Catalog, ToolSpec, is_terminal};
use crate::tool_search::FoundTools;
use crate::usage::Usage;

/// One request, rendered from a run by `prompt::request`. It borrows: a transport turns it into bytes
/// at once and keeps nothing.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// As it is spoken to by now, lessons included.
    pub target: &'a Target,
    /// Sent in the role that the target accepts.
    pub system: &'a str,
    /// The conversation so far, or the part of it that a summary is asked for.
    pub messages: &'a [Message],
    /// Ephemeral hints to the model, shown after the messages in this request only.
    pub notices: Vec<Arc<str>>,
    /// All tools of the run; `offer` says which of them go along.
    pub catalog: &'a Catalog,
    /// Which tools of the catalogue the provider is told of.
    pub offer: Offer,
    /// Which of the tools that have to be found were found.
    pub found: &'a FoundTools,
    /// What was reserved for the reply.
    pub output_tokens_max: u32,
    /// Of the target, else of the run; absent where nobody said one.
    pub temperature: Option<f64>,
    /// The turn that it is sent in.
    pub turn: u32,
    /// Counted from 1 in each turn.
    pub attempt: u32,
    /// How many earlier requests of this run got an answer or a failure. The script provider plays its
    /// replies by this number, so that a restart does not skip one.
    pub ordinal: u32,
}

impl Request<'_> {
    /// The tools that the provider is told of.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.catalog.specs().filter(|spec| self.sends(spec))
    }

    /// Whether the provider is told of a tool.
    fn sends(&self, spec: &ToolSpec) -> bool {
        self.offer.includes(&spec.name) && self.found.shows(spec)
    }

    /// What the provider is told of the choice between speaking and calling, if anything.
    pub fn tool_choice(&self) -> Option<ToolChoice> {
        match self.offer {
            Offer::None => None,
            Offer::WithoutTerminal => Some(ToolChoice::Auto),
            Offer::All | Offer::TerminalOnly => self.target.sampling.tool_choice,
        }
    }
}

/// Which tools of the catalogue go to the provider as its own kind of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offer {
    /// Every tool.
    #[default]
    All,
    /// The report is written in the text, all else is called.
    WithoutTerminal,
    /// The last turn: only the terminal call is left.
    TerminalOnly,
    /// Calls are written in the text.
    None,
}

impl Offer {
    /// Whether a tool of the catalogue goes along.
    pub fn includes(self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::WithoutTerminal => !is_terminal(tool),
            Self::TerminalOnly => is_terminal(tool),
            Self::None => false,
        }
    }
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The goal, an answer to a call that was written as a tag, a summary, or all that a loop is shown.
    User {
        /// As it is sent.
        text: Text,
        /// What goes with it.
        images: Vec<Image>,
    },
    /// What the model said.
    Assistant {
        /// Without its thoughts.
        text: Text,
        /// Its thoughts, where the provider shows them.
        reasoning: Text,
        /// What the provider wants back with the reasoning, in its own words; see [`Reply::signed`].
        signed: Option<Text>,
        /// Those that the conversation shows, in the order of the reply.
        calls: Vec<MessageCall>,
    },
    /// The answer to a call.
    Tool {
        /// The call that it answers.
        call_id: Arc<str>,
        /// The output, a stub, or why the call was not executed.
        text: Text,
        /// What the tool gave besides.
        images: Vec<Image>,
    },
}

impl Message {
    /// A text and nothing else.
    pub fn user(text: impl Into<Text>) -> Self {
        Self::User {
            text: text.into(),
            images: vec![],
        }
    }

    /// Those that go with it; a model gives none.
    pub fn images(&self) -> &[Image] {
        match self {
            Self::User { images, .. } | Self::Tool { images, .. } => images,
            Self::Assistant { .. } => &[],
        }
    }

    /// The same with images; a model gives none.
    pub(crate) fn with_images(mut self, more: &[Image]) -> Self {
        match &mut self {
            Self::User { images, .. } | Self::Tool { images, .. } => images.extend_from_slice(more),
            Self::Assistant { .. } => {}
        }
        self
    }
}

/// A tool call as the model wrote it, for the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageCall {
    /// The id that the answer names.
    pub id: Arc<str>,
    /// A name that can be sent, even where the model wrote one that cannot.
    pub tool: Arc<str>,
    /// A JSON object as text.
    pub arguments: Text,
}

/// What a model answered, not yet checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What it said; empty where it only called.
    pub text: String,
    /// What it thought, as far as the provider shows that.
    pub reasoning: String,
    /// The reply as the provider wants it back in later requests (signatures, encrypted items, their places): a JSON
    /// object `{"dialect": …, "items": […]}` that only the dialect which wrote it reads.
    pub signed: Option<String>,
    /// Those in the provider's own fields; those that are written in the text are found later.
    pub calls: Vec<ReplyCall>,
    /// Absent where the provider did not count; the reserve is booked then.
    pub usage: Option<Usage>,
    /// What the provider says that the request cost.
    pub cost: Option<Money>,
    /// Why it stopped, in the common word.
    pub finish: Finish,
    /// Why the model stopped, in the provider's word.
    pub stop_reason: Option<String>,
    /// The model that answered, where the provider says so.
    pub model: Option<String>,
    /// Who answered behind a router, where it says so.
    pub provider: Option<String>,
    /// The provider's own id of the request.
    pub request_id: Option<String>,
    /// From the first byte sent to the last one read.
    pub latency_ms: u64,
}

/// A tool call as the model wrote it. Nothing in it can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyCall {
    /// May be empty or used twice: it is replaced then.
    pub id: String,
    /// May name no tool at all.
    pub tool: String,
    /// Meant as a JSON object; may be anything.
    pub arguments: String,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said all.
    Stop,
    /// It waits for the answers to its calls.
    ToolCalls,
    /// The reply reached its bound: what stands last may be cut.
    Length,
    /// The provider withheld what it said.
    ContentFilter,
    /// The model wrote calls that the provider itself could not read, so that it left them out.
    MalformedCalls,
    /// The provider gave no reason, or one that we do not know.
    #[default]
    Unknown,
}

impl Finish {
    /// The common word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::MalformedCalls => "malformed_calls",
            Self::Unknown => "unknown",
        }
    }

    /// Why a model stops if nothing is wrong.
    pub(crate) fn default_of(has_calls: bool) -> Self {
        if has_calls {
            Self::ToolCalls
        } else {
            Self::Stop
        }
    }
}

/// Why no usable reply came.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What the kernel decides by whether, when and whom it asks again.
    pub class: FailureClass,
    /// The provider's words, or what went wrong on the way.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// After which time the provider wants to be asked again, where it says so.
    pub retry_after_ms: Option<u64>,
    /// The provider's own id of the request.
    pub request_id: Option<String>,
    /// From the first byte sent to the failure.
    pub latency_ms: u64,
    /// Whether the model may have worked, so that the provider may bill for it.
    pub billable: bool,
    /// What the provider says of a request that is too large for it.
    pub overflow: Option<Overflow>,
}

/// What a provider says of a request that is too large, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// What it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
}

impl Failure {
    /// With nothing known but this.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            retry_after_ms: None,
            request_id: None,
            latency_ms: 0,
            billable: false,
            overflow: None,
        }
    }
}

/// The classes that the retry policy tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The key is missing or not accepted: the run ends.
    Auth,
    /// The account has nothing left: the run ends.
    Quota,
    /// Too many requests: the target is left alone for a while.
    RateLimit,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The provider did not answer in time.
    Timeout,
    /// The provider or the model failed (5xx, a refused request).
    Model,
    /// The body could not be understood.
    Malformed,
    /// The request is larger than the model's window.
    Overflow,
    /// The process died while the request was under way. Only the kernel uses this class.
    Interrupted,
}

impl FailureClass {
    /// Its stable name, as the log and the docs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Model => "model",
            Self::Malformed => "malformed",
            Self::Overflow => "overflow",
            Self::Interrupted => "interrupted",
        }
    }
}
