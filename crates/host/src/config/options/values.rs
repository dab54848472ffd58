//! The options as one plain set of values.
//!
//! Everything is resolved by then: each value has its type, and defaults are filled in. A key that is
//! read here must be in the table with the kind that is expected; a mistake would give nothing or a
//! panic, and a test that reads every option finds it.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;

use bonded_kernel::{Permission, ProcessLimits, Rule, SandboxConfig, SandboxLevel};

use super::Source;
use super::kind::Parsed;
use super::reasoning::{Reasoning, ReasoningTokens, ReasoningValue};
use crate::provider::OpenaiMode;
use crate::skill_choice::SkillChoice;

/// A provider and a model of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRef {
    /// The name before the first slash: one of the configuration, or one that everybody knows.
    pub provider: String,
    /// All that follows the first slash, as the provider knows it; for a script the path of its file.
    pub model: String,
}

impl ModelRef {
    /// Splits at the first slash: a model's own name may hold more of them. `script:FILE` names a file.
    pub fn parse(name: &str) -> Option<Self> {
        let (provider, model) = match name.strip_prefix("script:") {
            Some(file) => ("script", file),
            None => name.split_once('/')?,
        };
        let complete = !provider.is_empty() && !model.is_empty();
        complete.then(|| Self {
            provider: provider.into(),
            model: model.into(),
        })
    }
}

/// Whether the provider is asked to cache the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Wherever the provider can.
    Full,
    /// Nothing is asked for; a provider may cache all the same.
    None,
}

/// How a model writes calls and its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEncoding {
    /// As the provider's own calls.
    Native,
    /// As tags in the text, calls and report.
    Xml,
    /// Calls natively, and the report as a tag.
    XmlFinal,
}

/// What a run is told. `None` in a sampling value means that it is not sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// In the order in which they are tried; may be empty.
    pub models: Vec<ModelRef>,
    /// Names of servers, requests, documents and built-in tools, as written.
    pub tools: Vec<String>,
    /// As written: relative to the agent file if that is their source, else to the working directory.
    pub agents: Vec<String>,
    /// The skills that are offered.
    pub skills: SkillChoice,
    /// Milliseconds until a model that says nothing has failed.
    pub llm_timeout_ms: u64,
    /// Milliseconds until a tool is stopped.
    pub tool_timeout_ms: u64,
    /// Bytes at which a longer output is cut.
    pub tool_response_bytes_max: u64,
    /// From 0 to 2.
    pub temperature: Option<f64>,
    /// From 0 to 1.
    pub top_p: Option<f64>,
    /// At least 1.
    pub top_k: Option<u64>,
    /// From 0 up.
    pub repeat_penalty: Option<f64>,
    /// That of the agent, or where it says nothing, the default.
    pub reasoning: Reasoning,
    /// For agents that do not say it themselves.
    pub default_reasoning: Reasoning,
    /// It counts more than the level.
    pub reasoning_tokens: ReasoningTokens,
    /// The most tokens of one reply.
    pub output_tokens_max: u32,
    /// At least 1: a turn has a first attempt.
    pub attempts_per_turn_max: u32,
    /// The most turns of a run.
    pub turns_max: u32,
    /// The most calls in one reply.
    pub calls_per_turn_max: u32,
    /// Whether outputs that were cut are kept for the model to read on in.
    pub tool_output_paging: bool,
    /// The tokens of servers' tools above which they are found by a search; none where all are sent.
    pub tool_search_above: Option<u64>,
    /// Whether the model is offered to tell of its progress.
    pub progress_reports: bool,
    /// In the order in which they hold.
    pub approvals: Vec<Rule>,
    /// Rules that hold beside them, each list by itself.
    pub rules_beside: Vec<Vec<Rule>>,
    /// Patterns of `--ask`, which only make stricter.
    pub ask: Vec<String>,
    /// Patterns of `--deny`, which only make stricter.
    pub deny: Vec<String>,
    /// `None` where nobody says it.
    pub untrusted: Option<Vec<String>>,
    /// What becomes of calls that change something once something untrusted was read.
    pub after_untrusted: Permission,
    /// Whether the run changes nothing.
    pub reads_only: bool,
    /// `None` leaves the choice to who is asked.
    pub openai_mode: Option<OpenaiMode>,
    /// Sent to the providers that have a word for it.
    pub caching: Caching,
    /// How calls and the report are written.
    pub encoding: ToolEncoding,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Whether what goes to and comes from models is logged.
    pub trace_llm: bool,
    /// Whether what goes to and comes from MCP servers is logged.
    pub trace_mcp: bool,
    /// Whether whole outputs are kept in the log where they were cut.
    pub trace_tools: bool,
    /// Whether the model may sum up what was said where nothing else makes room.
    pub context_summary: bool,
    /// For the surface: to say more.
    pub verbose: bool,
    /// For the surface: to say nothing while it runs.
    pub quiet: bool,
    /// Counts more than what is known or configured of the model.
    pub context_window_tokens: Option<u64>,
    /// Tokens that stay free; a model's own setting counts more.
    pub context_window_buffer_tokens: u64,
    /// Where snapshots go; without it there are none.
    pub sessions_dir: Option<String>,
    /// Where the ledger is; without it there is none.
    pub billing_file: Option<String>,
    /// One of the format names; `None` leaves the choice to the surface.
    pub format: Option<&'static str>,
    /// What holds for the commands and servers of the run.
    pub sandbox: SandboxConfig,
}

impl Options {
    /// The number of tokens and the level, put together as they are sent.
    pub fn reasoning_value(&self) -> ReasoningValue {
        ReasoningValue::of(self.reasoning, self.reasoning_tokens)
    }
}

/// What won, by key. The readers below name kinds that the table gives to their keys; a test reads every
/// option from its built-in value.
pub(super) struct Values(BTreeMap<&'static str, (Source, Parsed)>);

impl Values {
    pub(super) fn new(won: BTreeMap<&'static str, (Source, Parsed)>) -> Self {
        Self(won)
    }

    fn get(&self, key: &str) -> &Parsed {
        self.0
            .get(key)
            .map_or(&Parsed::Nothing, |(_, parsed)| parsed)
    }

    /// Whether somebody has said it, and it is not only built in.
    fn is_given(&self, key: &str) -> bool {
        let source = self.0.get(key).map(|(source, _)| *source);
        source.is_some_and(|source| source != Source::BuiltIn)
    }

    fn whole(&self, key: &str) -> Option<u64> {
        if let Parsed::Whole(whole) = self.get(key) {
            Some(*whole)
        } else {
            None
        }
    }

    /// Panics where the table has no number for the key, which is a mistake in this program.
    fn count(&self, key: &str) -> u64 {
        self.whole(key)
            .expect("the table gives the key a number by default")
    }

    fn count_32(&self, key: &str) -> u32 {
        u32::try_from(self.count(key)).expect("the table bounds the key to 32 bits")
    }

    fn real(&self, key: &str) -> Option<f64> {
        if let Parsed::Real(real) = self.get(key) {
            Some(*real)
        } else {
            None
        }
    }

    fn rules(&self, key: &str) -> Vec<Rule> {
        if let Parsed::Rules(rules) = self.get(key) {
            rules.clone()
        } else {
            vec![]
        }
    }

    fn permission(&self, key: &str) -> Permission {
        match self.word(key) {
            Some("deny") => Permission::Deny,
            Some("ask") => Permission::Ask,
            Some(_) | None => Permission::Allow,
        }
    }

    fn list(&self, key: &str) -> Vec<String> {
        self.given_list(key).unwrap_or_default()
    }

    /// An empty list is not the same as none.
    fn given_list(&self, key: &str) -> Option<Vec<String>> {
        if let Parsed::List(items) = self.get(key) {
            Some(items.clone())
        } else {
            None
        }
    }

    fn word(&self, key: &str) -> Option<&'static str> {
        if let Parsed::Word(word) = self.get(key) {
            Some(word)
        } else {
            None
        }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Parsed::Flag(true))
    }

    fn text(&self, key: &str) -> Option<String> {
        if let Parsed::Text(text) = self.get(key) {
            Some(text.clone())
        } else {
            None
        }
    }

    fn reasoning(&self, key: &str) -> Reasoning {
        match self.get(key) {
            Parsed::Unset => Reasoning::Off,
            Parsed::Level(level) => Reasoning::Level(*level),
            Parsed::Nothing
            | Parsed::Whole(_)
            | Parsed::Real(_)
            | Parsed::List(_)
            | Parsed::Rules(_)
            | Parsed::Word(_)
            | Parsed::Flag(_)
            | Parsed::Text(_) => Reasoning::ProviderDefault,
        }
    }

    fn reasoning_tokens(&self, key: &str) -> ReasoningTokens {
        match self.get(key) {
            Parsed::Unset => ReasoningTokens::Off,
            Parsed::Whole(tokens) => ReasoningTokens::Tokens(*tokens),
            Parsed::Nothing
            | Parsed::Real(_)
            | Parsed::List(_)
            | Parsed::Rules(_)
            | Parsed::Word(_)
            | Parsed::Level(_)
            | Parsed::Flag(_)
            | Parsed::Text(_) => ReasoningTokens::NotGiven,
        }
    }

    fn models(&self) -> Vec<ModelRef> {
        let names = self.list("models");
        names
            .iter()
            .filter_map(|name| ModelRef::parse(name))
            .collect()
    }

    fn openai_mode(&self) -> Option<OpenaiMode> {
        match self.word("openaiMode") {
            Some("responses") => Some(OpenaiMode::Responses),
            Some("chat") => Some(OpenaiMode::Chat),
            // Said by somebody, it takes back what a provider says.
            Some("auto") if self.is_given("openaiMode") => Some(OpenaiMode::Auto),
            _ => None,
        }
    }

    fn caching(&self) -> Caching {
        match self.word("caching") {
            Some("none") => Caching::None,
            _ => Caching::Full,
        }
    }

    fn encoding(&self) -> ToolEncoding {
        match self.word("toolingTransport") {
            Some("native") => ToolEncoding::Native,
            Some("xml") => ToolEncoding::Xml,
            _ => ToolEncoding::XmlFinal,
        }
    }

    fn sandbox(&self) -> SandboxConfig {
        let level = self.word("sandbox").and_then(SandboxLevel::parse);
        SandboxConfig {
            level: level.unwrap_or_default(),
            required: self.flag("sandboxRequired"),
            best_effort: self.flag("sandboxBestEffort"),
            network: self.flag("sandboxNetwork"),
            env: self.list("sandboxEnv"),
            show: self.list("sandboxShow"),
            limits: ProcessLimits {
                // The system counts seconds.
                cpu_s: self.count("sandboxCpuMs").div_ceil(1000),
                memory_bytes: self.count("sandboxMemoryBytes"),
                processes: self.count("sandboxProcesses"),
                file_bytes: self.count("sandboxFileBytes"),
            },
        }
    }

    /// The one list of what there is. `rules_beside` is filled in by the resolver.
    pub(super) fn options(&self) -> Options {
        Options {
            models: self.models(),
            tools: self.list("tools"),
            agents: self.list("agents"),
            skills: SkillChoice::of(self.list("skills")),
            llm_timeout_ms: self.count("llmTimeout"),
            tool_timeout_ms: self.count("toolTimeout"),
            tool_response_bytes_max: self.count("toolResponseMaxBytes"),
            temperature: self.real("temperature"),
            top_p: self.real("topP"),
            top_k: self.whole("topK"),
            repeat_penalty: self.real("repeatPenalty"),
            reasoning: self.reasoning("reasoning"),
            default_reasoning: self.reasoning("defaultReasoning"),
            reasoning_tokens: self.reasoning_tokens("reasoningTokens"),
            output_tokens_max: self.count_32("maxOutputTokens"),
            // A turn has a first attempt, however few retries it may have.
            attempts_per_turn_max: self.count_32("maxRetries").max(1),
            turns_max: self.count_32("maxTurns"),
            calls_per_turn_max: self.count_32("maxToolCallsPerTurn"),
            tool_output_paging: self.flag("toolOutputPaging"),
            tool_search_above: self.whole("toolSearchAbove"),
            progress_reports: self.flag("progressReports"),
            approvals: self.rules("approvals"),
            rules_beside: vec![],
            ask: self.list("ask"),
            deny: self.list("deny"),
            untrusted: self.given_list("untrusted"),
            after_untrusted: self.permission("afterUntrusted"),
            reads_only: self.flag("readOnly"),
            openai_mode: self.openai_mode(),
            caching: self.caching(),
            encoding: self.encoding(),
            stream: self.flag("stream"),
            trace_llm: self.flag("traceLLM"),
            trace_mcp: self.flag("traceMCP"),
            trace_tools: self.flag("traceTools"),
            context_summary: self.flag("contextSummary"),
            verbose: self.flag("verbose"),
            quiet: self.flag("quiet"),
            context_window_tokens: self.whole("contextWindow"),
            context_window_buffer_tokens: self.count("contextWindowBufferTokens"),
            sessions_dir: self.text("sessionsDir"),
            billing_file: self.text("billingFile"),
            format: self.word("format"),
            sandbox: self.sandbox(),
        }
    }
}
