//! The options as one plain set of values.

use std::collections::BTreeMap;

use bonded_kernel::{Permission, ProcessLimits, Rule, SandboxConfig, SandboxLevel};

use super::Source;
use super::kind::Parsed;
use super::reasoning::{Reasoning, ReasoningTokens, ReasoningValue};
use crate::config::OpenaiMode;

/// A provider and a model of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRef {
    pub provider: String,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    Full,
    None,
}

/// How a model writes calls and its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEncoding {
    Native,
    Xml,
    XmlFinal,
}

/// What a run is told. `None` in a sampling value means that it is not sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub models: Vec<ModelRef>,
    pub tools: Vec<String>,
    /// As written: relative to the agent file if that is their source, else to the working directory.
    pub agents: Vec<String>,
    pub llm_timeout_ms: u64,
    pub tool_timeout_ms: u64,
    pub tool_response_bytes_max: u64,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
    pub repeat_penalty: Option<f64>,
    pub reasoning: Reasoning,
    pub default_reasoning: Reasoning,
    pub reasoning_tokens: ReasoningTokens,
    pub output_tokens_max: u32,
    pub attempts_per_turn_max: u32,
    pub turns_max: u32,
    pub calls_per_turn_max: u32,
    pub tool_output_paging: bool,
    pub progress_reports: bool,
    /// In the order in which they hold.
    pub approvals: Vec<Rule>,
    /// Rules that hold beside them, each list by itself.
    pub rules_beside: Vec<Vec<Rule>>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// `None` where nobody says it.
    pub untrusted: Option<Vec<String>>,
    pub after_untrusted: Permission,
    /// `None` leaves the choice to who is asked.
    pub openai_mode: Option<OpenaiMode>,
    pub caching: Caching,
    pub encoding: ToolEncoding,
    pub stream: bool,
    pub trace_llm: bool,
    pub trace_mcp: bool,
    pub trace_tools: bool,
    pub context_summary: bool,
    pub verbose: bool,
    pub quiet: bool,
    pub context_window_tokens: Option<u64>,
    pub context_window_buffer_tokens: u64,
    pub sessions_dir: Option<String>,
    pub billing_file: Option<String>,
    /// One of the format names; `None` leaves the choice to the surface.
    pub format: Option<&'static str>,
    pub sandbox: SandboxConfig,
}

impl Options {
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
        match self.get(key) {
            Parsed::Whole(whole) => Some(*whole),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> u64 {
        self.whole(key)
            .expect("the table gives the key a number by default")
    }

    fn count_32(&self, key: &str) -> u32 {
        u32::try_from(self.count(key)).expect("the table bounds the key to 32 bits")
    }

    fn real(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Parsed::Real(real) => Some(*real),
            _ => None,
        }
    }

    fn rules(&self, key: &str) -> Vec<Rule> {
        match self.get(key) {
            Parsed::Rules(rules) => rules.clone(),
            _ => vec![],
        }
    }

    fn permission(&self, key: &str) -> Permission {
        match self.get(key) {
            Parsed::Word("deny") => Permission::Deny,
            Parsed::Word("ask") => Permission::Ask,
            _ => Permission::Allow,
        }
    }

    fn list(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Parsed::List(items) => items.clone(),
            _ => Vec::new(),
        }
    }

    fn word(&self, key: &str) -> Option<&'static str> {
        match self.get(key) {
            Parsed::Word(word) => Some(word),
            _ => None,
        }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Parsed::Flag(true))
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.get(key) {
            Parsed::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn reasoning(&self, key: &str) -> Reasoning {
        match self.get(key) {
            Parsed::Unset => Reasoning::Off,
            Parsed::Level(level) => Reasoning::Level(*level),
            _ => Reasoning::ProviderDefault,
        }
    }

    fn reasoning_tokens(&self, key: &str) -> ReasoningTokens {
        match self.get(key) {
            Parsed::Unset => ReasoningTokens::Off,
            Parsed::Whole(tokens) => ReasoningTokens::Tokens(*tokens),
            _ => ReasoningTokens::NotGiven,
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

    pub(super) fn options(&self) -> Options {
        Options {
            models: self.models(),
            tools: self.list("tools"),
            agents: self.list("agents"),
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
            progress_reports: self.flag("progressReports"),
            approvals: self.rules("approvals"),
            rules_beside: vec![],
            ask: self.list("ask"),
            deny: self.list("deny"),
            untrusted: match self.get("untrusted") {
                Parsed::List(patterns) => Some(patterns.clone()),
                _ => None,
            },
            after_untrusted: self.permission("afterUntrusted"),
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
