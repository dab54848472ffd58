//! What a run is given when it starts, resolved once by the host and then frozen in the log.
//!
//! Nothing here is looked up again while the run goes on: a changed file, a new table of prices or a later build does not
//! change a run that has begun. A field that older logs lack has a default that means what they did.

mod agent;
mod client;
mod looping;
mod overall;
mod reading;
mod report;
mod skill;
mod writing;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::accepts::{Accepts, Reasoning};
use crate::edition::Edition;
use crate::hash::Hash;
use crate::id::RunId;
use crate::money::{Money, Price};
use crate::own_tools::OwnTools;
use crate::policy::Policy;
use crate::sandbox::SandboxConfig;
use crate::text::Text;

pub use agent::{AgentConfig, Encoding, HandedDown, HandedOption, SubAgent};
pub use client::ClientTools;
pub use looping::{
    DEFAULT_CONDITION, LoopConfig, Mode, PAGING_BYTES, PARSER_VERSION, STATES, Scope, ScopeCode,
    ScopeViolation, Segment, TAGS, segments_for,
};
pub use overall::OverallLimits;
pub use report::{ReportFormat, ReportSpec};
pub use skill::OfferedSkill;
pub(crate) use writing::{Spelling, Writing};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The working directory, absolute: the tools stay inside it.
    pub dir: String,
    /// Tried in this order, round-robin. Empty only where the run was refused.
    pub targets: Vec<Target>,
    /// What ends the run whatever the model does: of a run with several goals, what may be used for the first.
    pub limits: Limits,
    /// What may be used over all goals of the run; without it, what `limits` say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<OverallLimits>,
    /// Whether the run is a conversation: a text without a call is the answer, and the person goes on from there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversation: bool,
    /// The longest reply that is asked for, in tokens, thoughts included.
    pub output_tokens_max: u32,
    /// Whether nobody said how long a reply may be.
    #[serde(
        rename = "output_usual",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub output_is_default: bool,
    /// For every target that has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether arguments that are almost JSON are mended. Logs of the first format never did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repairs: bool,
    /// Whether the log keeps the whole of a tool's output that was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_originals: bool,
    /// What the kernel itself answers besides the end.
    #[serde(default, skip_serializing_if = "OwnTools::is_none")]
    pub own_tools: OwnTools,
    /// What makes the run that of an agent with a report; without it `done` ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentConfig>>,
    /// The run whose call this run is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Whether a report that stood in the text is delivered when a limit ends the run. Logs of the first
    /// two formats never did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescues: bool,
    /// What is kept of the run outside the store, for whoever takes it up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<RunFiles>>,
    /// What the run may do without asking; without it, everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    /// What is demanded for the commands and servers that the run starts; logs of older formats did not
    /// confine them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxConfig>>,
    /// The work item that the run is for: it goes on with its plan, in a copy of a tree that only the plan has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Box<ItemOfPlan>>,
    /// What makes the run work in loops, with a memory in place of a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looping: Option<Box<LoopConfig>>,
    /// The files that were named or found when the run began, as they counted then: whoever takes the run up again
    /// holds what is there against them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldFile>,
    /// What the run decides by.
    #[serde(default, skip_serializing_if = "Edition::is_first")]
    pub edition: Edition,
    /// The only built-in tools that a run without an agent is given; without it, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<Vec<String>>,
    /// Whether the model is asked for a summary of what was said where nothing else makes room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context_summary: bool,
    /// How a client of a server began the run; absent where nobody did so through a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// The tools that whoever asked for the run executes; absent where the run executes all of its calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_tools: Option<Box<ClientTools>>,
    /// The skills that the model may read; empty where none are offered, and in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<OfferedSkill>,
}

/// The protocol that a client of a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// OpenAI's, over HTTP.
    Openai,
    /// MCP, over stdio or HTTP.
    Mcp,
}

impl Served {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Mcp => "mcp",
        }
    }
}

/// A configuration or agent file that is not one of the person's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeldFile {
    /// Absolute, without links.
    pub file: String,
    /// Of its content and of what it pulls in. Without one, only what tightens of it counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether a person named it, instead of its being found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
}

/// The place of a run in a plan of work items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemOfPlan {
    /// The id of the plan.
    pub plan: String,
    /// The id of the item in the plan.
    pub item: String,
    /// The state of the tree that the run was given.
    pub before_hash: Hash,
    /// What the worker that drives the run is told of it, as a content of the plan. Absent where the run is driven where
    /// the tree is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Hash>,
}

/// Where a run is kept outside the store. Both follow from the log and can be written again from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFiles {
    /// The file of accounts, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// The directory of snapshots, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<String>,
}

impl RunConfig {
    /// Settings with nothing but the defaults; callers change what they are about.
    pub fn new(dir: impl Into<String>, targets: Vec<Target>) -> Self {
        Self {
            dir: dir.into(),
            targets,
            limits: Limits::default(),
            overall: None,
            conversation: false,
            output_tokens_max: 8_192,
            output_is_default: false,
            temperature: None,
            repairs: true,
            keeps_originals: false,
            own_tools: OwnTools::default(),
            agent: None,
            parent: None,
            rescues: true,
            kept: None,
            policy: None,
            sandbox: None,
            item: None,
            looping: None,
            held: vec![],
            edition: Edition::NEWEST,
            builtin: None,
            context_summary: false,
            served: None,
            client_tools: None,
            skills: vec![],
        }
    }

    /// Every text that may lie in a blob.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let looping = self.looping.iter_mut();
        let client_tools = self.client_tools.iter_mut();
        let specs = client_tools.map(|tools| tools.text_mut());
        looping.flat_map(|looping| looping.texts_mut()).chain(specs)
    }
}

/// Where a run hangs in a tree of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run whose call began this one.
    pub run: RunId,
    /// The run at the root of the tree.
    pub origin: RunId,
    /// Names of agents from the root down to this one, joined by `:`.
    pub path: String,
}

/// A provider's endpoint and a model there. It holds no secret: a key is named by the variable that
/// holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The name under which the configuration has the provider.
    pub provider: String,
    /// The well-known provider that this one is spoken to like, where its own name does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The base URL, or the file of a script.
    pub endpoint: String,
    /// The model, by the name that the endpoint knows.
    pub model: String,
    /// The variable that holds the key; absent where the provider needs none or a file holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether the reply is asked for as a stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// How long a request may take, its whole reply included.
    pub timeout_ms: u64,
    /// What its tokens cost; without one no budget of money can be held against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The day of the list that the price is from; none where somebody said what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_listed: Option<String>,
    /// The wire format that the endpoint speaks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// How the model is asked to speak.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sampling: Sampling,
    /// How much the model takes in; unknown windows are not guarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Who says how large the window is. Logs of older formats do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_source: Option<WindowSource>,
    /// What holds of a window that is not known yet, once it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub window_open: OpenWindow,
    /// The configuration files, highest first, that hold the provider's key and headers; empty where it
    /// has none. The secrets themselves never enter a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets_in: Vec<String>,
    /// What model and service accept. Logs of older formats do not say; then it is what is known of them today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Box<Accepts>>,
    /// The header that the key is shown in, where it is not the dialect's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<String>,
    /// What stands in the body of every request as it is.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub custom: Map<String, Value>,
}

impl Target {
    /// The name by which a dialect knows what the provider takes.
    pub fn family(&self) -> &str {
        self.family.as_deref().unwrap_or(&self.provider)
    }

    /// A target with nothing but the defaults; callers change what they are about.
    pub fn new(
        provider: impl Into<String>,
        endpoint: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            provider: provider.into(),
            family: None,
            endpoint: endpoint.into(),
            model: model.into(),
            key_env: None,
            stream: false,
            timeout_ms: 600_000,
            price: None,
            price_listed: None,
            dialect: Dialect::default(),
            sampling: Sampling::default(),
            window: None,
            window_source: None,
            window_open: OpenWindow::default(),
            secrets_in: vec![],
            accepts: None,
            key_header: None,
            custom: Map::new(),
        }
    }

    /// Its window, if it has so many tokens.
    pub fn window_of(&self, tokens: u64) -> Window {
        let OpenWindow { buffer, vocabulary } = self.window_open;
        let open = Window {
            tokens,
            buffer,
            vocabulary,
        };
        self.window.map_or(open, |known| Window { tokens, ..known })
    }

    /// Whether a limit that a provider sets for one of two targets holds for the other too.
    pub(crate) fn shares_key_with(&self, other: &Self) -> bool {
        let keyed = self.key_env.is_some() || !self.secrets_in.is_empty();
        keyed
            && self.provider == other.provider
            && self.endpoint == other.endpoint
            && self.key_env == other.key_env
            && self.secrets_in == other.secrets_in
    }
}

/// Which wire format an endpoint speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Chat completions.
    #[default]
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's generateContent.
    Gemini,
}

/// How a model is asked to speak. What is absent is not sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Takes the place of the temperature of the run for this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of likely tokens that is drawn from, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// How many likely tokens are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Sent in the field that the service has for it; see [`PenaltyField`](crate::PenaltyField).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f64>,
    /// How much the model is asked to think; what the service cannot be asked for is brought to the nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Whether a call is demanded; the request of the last turn follows its own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether the provider is asked to keep the beginning of the request for the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caching: bool,
    /// Whether several calls may stand in one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// What requests that begin alike have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// The class of service, in the words of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
}

/// Whether a model may speak without calling a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It must call one, where the service can be asked for that.
    Required,
}

/// A model's capacity and what is kept free of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The whole of it: what is sent and what is answered.
    pub tokens: u64,
    /// The tokens that stay free, because counts are never exact.
    pub buffer: u64,
    /// What texts are estimated by until the provider has counted them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vocabulary: Vocabulary,
}

impl Window {
    /// More than any model takes in: who names more has not said anything.
    pub const TOKENS_MAX: u64 = 100_000_000;

    /// A number that somebody else gives for a window, if it can be one.
    pub fn plausible(tokens: u64) -> Option<u64> {
        (1..=Self::TOKENS_MAX).contains(&tokens).then_some(tokens)
    }
}

/// Who says how large a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// A person.
    Configured,
    /// The tables of models.
    Table,
    /// The server, before the run began.
    Asked,
    /// Nobody: it is taken for what most models have.
    Assumed,
    /// The provider, when it refused a request.
    Learned,
}

impl WindowSource {
    /// The word for it in logs and in what people are shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Table => "table",
            Self::Asked => "asked",
            Self::Assumed => "assumed",
            Self::Learned => "learned",
        }
    }
}

/// What is set of a window whose size nobody has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenWindow {
    /// See [`Window::buffer`].
    pub buffer: u64,
    /// See [`Window::vocabulary`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub vocabulary: Vocabulary,
}

impl Default for OpenWindow {
    fn default() -> Self {
        Self {
            buffer: 256,
            vocabulary: Vocabulary::default(),
        }
    }
}

/// How a model cuts text into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// Nobody here knows: an estimate that errs upwards is used.
    #[default]
    Unknown,
    /// That of Anthropic's models, as far as it is published.
    Claude,
    /// That of OpenAI's models up to GPT-4.
    Cl100k,
    /// That of OpenAI's models since GPT-4o.
    O200k,
    /// That of Qwen's models.
    Qwen,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The hard limits. Each holds whatever the model, the tools, the prompt or a restart do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Decisions of the model; the run of an agent has to report in the last of them.
    pub turns_max: u32,
    /// Calls beyond these are refused, and the model is told so.
    pub calls_per_turn_max: u32,
    /// Requests for one decision, those to other targets included.
    pub attempts_per_turn_max: u32,
    /// Time while a process drives the run; the time between a crash and the resume does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms_max: Option<u64>,
    /// Input and output of all requests, agents below included; none is sent that could exceed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The same in money; it holds for targets whose price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<Money>,
    /// How often the same thing may happen in a row before the run ends as without progress; 0 = never.
    pub repeats_max: u32,
    /// For one call; the host ends what takes longer.
    pub tool_timeout_ms: u64,
    /// What one output may have; the rest is cut off before the kernel sees it.
    pub tool_output_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_max: 50,
            calls_per_turn_max: 10,
            attempts_per_turn_max: 10,
            elapsed_ms_max: Some(3_600_000),
            tokens_max: None,
            cost_max: None,
            repeats_max: 3,
            tool_timeout_ms: 300_000,
            tool_output_bytes_max: 32_768,
        }
    }
}
