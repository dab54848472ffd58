//! What goes to a model and what comes back, in the words of no provider.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Target, ToolChoice};
use crate::money::Money;
use crate::text::Text;
use crate::tool::{Catalog, ToolSpec, is_terminal};
use crate::usage::Usage;

/// One request, rendered from a run by `prompt::request`. It borrows: a transport turns it into bytes
/// at once and keeps nothing.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub target: &'a Target,
    pub system: &'a str,
    pub messages: &'a [Message],
    /// Ephemeral hints to the model, shown after the messages in this request only.
    pub notices: Vec<Arc<str>>,
    pub catalog: &'a Catalog,
    /// Which tools of the catalogue the provider is told of.
    pub offer: Offer,
    pub output_tokens_max: u32,
    pub temperature: Option<f64>,
    pub turn: u32,
    pub attempt: u32,
    /// How many earlier requests of this run got an answer or a failure. The script provider plays its
    /// replies by this number, so that a restart does not skip one.
    pub ordinal: u32,
}

impl Request<'_> {
    /// The tools that the provider is told of.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.catalog
            .specs()
            .filter(|spec| self.offer.includes(&spec.name))
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
    User {
        text: Text,
    },
    Assistant {
        text: Text,
        reasoning: Text,
        /// What the provider wants back with the reasoning, in its own words; see [`Reply::signed`].
        signed: Option<Text>,
        calls: Vec<MessageCall>,
    },
    Tool {
        call_id: Arc<str>,
        text: Text,
    },
}

/// A tool call as the model wrote it, for the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageCall {
    pub id: Arc<str>,
    pub tool: Arc<str>,
    /// A JSON object as text.
    pub arguments: Text,
}

/// What a model answered, not yet checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    pub reasoning: String,
    /// The reply as the provider wants it back in later requests (signatures, encrypted items, their places): a JSON
    /// object `{"dialect": …, "items": […]}` that only the dialect which wrote it reads.
    pub signed: Option<String>,
    pub calls: Vec<ReplyCall>,
    pub usage: Option<Usage>,
    /// What the provider says that the request cost.
    pub cost: Option<Money>,
    pub finish: Finish,
    /// Why the model stopped, in the provider's word.
    pub stop_reason: Option<String>,
    /// The model that answered, where the provider says so.
    pub model: Option<String>,
    /// Who answered behind a router, where it says so.
    pub provider: Option<String>,
    pub request_id: Option<String>,
    pub latency_ms: u64,
}

/// A tool call as the model wrote it. Nothing in it can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyCall {
    pub id: String,
    pub tool: String,
    pub arguments: String,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
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
    pub(crate) fn usual(has_calls: bool) -> Self {
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
    pub class: FailureClass,
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    pub retry_after_ms: Option<u64>,
    pub request_id: Option<String>,
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
    Auth,
    Quota,
    RateLimit,
    Network,
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
