//! The providers of the configuration.
//!
//! An entry is read when a model of it is used. Its secrets are learnt then, and it is refused where
//! they would go to an address of somebody else, or where a secret stands in a part of the request that
//! the log keeps.

use std::collections::BTreeMap;
use std::path::Path;

use bonded_kernel::Measure;
use serde_json::{Map, Value};

use super::accepts::AcceptsConfig;
use super::entry::ConfigEntry;
use super::options::ModelRef;
use super::{Config, ConfigError, KeyPath, Problems, Secret};
use crate::provider::OpenaiMode;

/// The dialect that a provider speaks.
///
/// It also says what is known of the service: its address, its variables and its family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI, or with a `baseUrl` a server that speaks like it.
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Google,
    /// A router to the models of many.
    Openrouter,
    /// A local server.
    Ollama,
    /// A local server.
    Lmstudio,
    /// A local server.
    Vllm,
    /// A local server.
    Llamacpp,
    /// OpenAI's models as deployments of a resource at Azure.
    Azure,
    /// Mistral's own service.
    Mistral,
    /// DeepSeek's own service.
    Deepseek,
    /// The service of xAI.
    Xai,
    /// The service of Groq.
    Groq,
    /// Amazon's models behind a gateway that speaks chat completions.
    Bedrock,
    /// A server that speaks OpenAI's language, of which nothing else is known.
    Compatible,
}

/// The words of `type`, which also count as names of entries that have none.
pub(super) const KINDS: [(&str, ProviderKind); 15] = [
    ("openai", ProviderKind::Openai),
    ("anthropic", ProviderKind::Anthropic),
    ("google", ProviderKind::Google),
    ("openrouter", ProviderKind::Openrouter),
    ("ollama", ProviderKind::Ollama),
    ("lmstudio", ProviderKind::Lmstudio),
    ("vllm", ProviderKind::Vllm),
    ("llamacpp", ProviderKind::Llamacpp),
    ("azure", ProviderKind::Azure),
    ("mistral", ProviderKind::Mistral),
    ("deepseek", ProviderKind::Deepseek),
    ("xai", ProviderKind::Xai),
    ("groq", ProviderKind::Groq),
    ("bedrock", ProviderKind::Bedrock),
    ("openai-compatible", ProviderKind::Compatible),
];

/// The words of `openaiMode`.
pub(super) const OPENAI_MODES: [(&str, OpenaiMode); 3] = [
    ("auto", OpenaiMode::Auto),
    ("responses", OpenaiMode::Responses),
    ("chat", OpenaiMode::Chat),
];

/// Whether a model must call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may answer without a call.
    Auto,
    /// It must call one.
    Required,
}

/// The words of `toolChoice`.
pub(super) const TOOL_CHOICES: [(&str, ToolChoice); 2] = [
    ("auto", ToolChoice::Auto),
    ("required", ToolChoice::Required),
];

/// What the reasoning levels mean to a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ReasoningMap {
    /// The model has none.
    Off,
    /// One value whatever the level.
    Value(Value),
    /// One value each for minimal, low, medium and high.
    Levels([Value; 4]),
}

/// A value that overrides another one: sent, or left out of the request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sent<T> {
    /// This one, in place of the run's.
    Value(T),
    /// A null in the configuration: nothing is sent, whatever the run says.
    LeftOut,
}

/// Sampling values that win over those of the run. `None` leaves the run's value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// For models that take none, or only one.
    pub temperature: Option<Sent<f64>>,
    /// As with the temperature.
    pub top_p: Option<Sent<f64>>,
    /// As with the temperature.
    pub top_k: Option<Sent<u64>>,
    /// As with the temperature.
    pub repeat_penalty: Option<Sent<f64>>,
}

impl Sampling {
    /// Field by field.
    fn or(self, other: Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            top_k: self.top_k.or(other.top_k),
            repeat_penalty: self.repeat_penalty.or(other.repeat_penalty),
        }
    }
}

/// What is said of a model, or of all models of a provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelConfig {
    /// They win over the options of the run.
    pub overrides: Sampling,
    /// `None` leaves the levels as they are.
    pub reasoning: Option<ReasoningMap>,
    /// `None` if the configuration does not say.
    pub tool_choice: Option<ToolChoice>,
    /// Counts more than what is known of the model, and less than an option of the run.
    pub context_window_tokens: Option<u64>,
    /// The name of a vocabulary; an unknown one is an error when the model is used.
    pub tokenizer: Option<String>,
    /// Counts more than the option of the run.
    pub context_window_buffer_tokens: Option<u64>,
    /// Whether a reply may have several calls; `None` sends nothing.
    pub parallel_tool_calls: Option<bool>,
    /// Handed to the provider; it stands in the log and must be no secret.
    pub prompt_cache_key: Option<String>,
    /// Handed to the provider; `None` sends nothing.
    pub service_tier: Option<String>,
    /// What the model accepts, where that is not what is known of it.
    pub accepts: AcceptsConfig,
}

/// A provider as the configuration has it, with all variables put in.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// The key of the entry, by which models name it.
    pub name: String,
    /// From `type`, else from the name.
    pub kind: ProviderKind,
    /// `None` leaves the key to a variable, unless the entry has an address of its own.
    pub api_key: Option<Secret>,
    /// `None` is where everybody knows the service to be. It begins with `http`.
    pub base_url: Option<String>,
    /// Sent with every request; they may hold a key.
    pub headers: BTreeMap<String, Secret>,
    /// Handed to the provider as it is.
    pub custom: Map<String, Value>,
    /// An option of the run counts more.
    pub openai_mode: Option<OpenaiMode>,
    /// The version of Azure's API that is asked for.
    pub api_version: Option<String>,
    /// What holds for all models.
    pub every_model: ModelConfig,
    /// By the model's name; what is said here counts more than `every_model`.
    pub models: BTreeMap<String, ModelConfig>,
}

impl ProviderConfig {
    /// What holds for a model: its own settings, then those of the provider.
    pub fn model(&self, name: &str) -> ModelConfig {
        let every = self.every_model.clone();
        let Some(own) = self.models.get(name).cloned() else {
            return every;
        };
        ModelConfig {
            overrides: own.overrides.or(every.overrides),
            reasoning: own.reasoning.or(every.reasoning),
            tool_choice: own.tool_choice.or(every.tool_choice),
            context_window_tokens: own.context_window_tokens.or(every.context_window_tokens),
            tokenizer: own.tokenizer.or(every.tokenizer),
            context_window_buffer_tokens: own
                .context_window_buffer_tokens
                .or(every.context_window_buffer_tokens),
            parallel_tool_calls: own.parallel_tool_calls.or(every.parallel_tool_calls),
            prompt_cache_key: own.prompt_cache_key.or(every.prompt_cache_key),
            service_tier: own.service_tier.or(every.service_tier),
            accepts: own.accepts.over(every.accepts),
        }
    }
}

impl Config {
    /// What stands in the body of requests is kept in the log, so no secret may be among it.
    fn refuse_secrets(&self, provider: &ProviderConfig, path: &KeyPath) -> Result<(), Problems> {
        let secrets = self.environment.secrets();
        let mut found = vec![];
        for (name, value) in &provider.custom {
            texts(name, value, &mut found);
        }
        let keys = provider.models.values().chain([&provider.every_model]);
        let keys = keys.filter_map(|model| model.prompt_cache_key.as_deref());
        found.extend(keys.map(|key| ("promptCacheKey", key)));
        for (name, text) in &found {
            secrets.learn_named(name, text);
        }
        let mask = secrets.mask();
        let problems = found.into_iter().filter(|(_, text)| mask.finds(text));
        let problems = problems.map(|(name, _)| ConfigError::Unusable {
            file: self.files().next().map(Path::to_path_buf).unwrap_or_default(),
            key_path: path.clone(),
            message: format!(
                "its field {name:?} holds a secret, which would be written to the log; send it in `headers`"
            ),
        });
        Problems::none_of(problems.collect())
    }

    /// The providers that the configuration has, whatever may be wrong with them.
    pub fn provider_names(&self) -> Vec<&str> {
        self.names("providers")
    }

    /// The models that a provider's own entry names, of all providers.
    pub fn named_models(&self) -> Vec<ModelRef> {
        let mut named = vec![];
        for name in self.names("providers") {
            let provider = self.provider(name).ok().flatten();
            let models = provider.into_iter().flat_map(|it| it.models.into_keys());
            named.extend(models.map(|model| ModelRef {
                provider: name.to_owned(),
                model,
            }));
        }
        named
    }

    /// A provider with its variables put in; `None` if the configuration does not have it.
    pub fn provider(&self, name: &str) -> Result<Option<ProviderConfig>, Problems> {
        let mut problems = Vec::new();
        let provider = self
            .entry(&["providers", name], &mut problems)
            .and_then(|entry| provider(name, &entry, &mut problems));
        let path = KeyPath::dotted("providers").child(name);
        problems.extend(self.misdirected(&path, &["apiKey", "headers"], &["baseUrl", "type"]));
        Problems::none_of(problems)?;
        let secrets = self.environment.secrets();
        if let Some(provider) = &provider {
            self.refuse_secrets(provider, &path)?;
            if let Some(key) = &provider.api_key {
                secrets.learn_key(name, key.expose());
            }
            for (header, value) in &provider.headers {
                secrets.learn_named(header, value.expose());
            }
        }
        Ok(provider)
    }
}

/// Every text in a value, with the name that it goes by.
fn texts<'v>(name: &'v str, value: &'v Value, found: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::String(text) => found.push((name, text)),
        Value::Array(items) => items.iter().for_each(|item| texts(name, item, found)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| texts(name, value, found)),
        _ => {}
    }
}

/// Every mistake of the entry is told, also where it has no kind and there is no provider in the end.
fn provider(
    name: &str,
    entry: &ConfigEntry<'_>,
    problems: &mut Vec<ConfigError>,
) -> Option<ProviderConfig> {
    let kind = kind(name, entry, problems);
    let openai_mode = entry.word("openaiMode", &OPENAI_MODES, problems);
    refuse_own_fields(entry, problems);
    let base_url = entry.text("baseUrl");
    let is_web = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    if base_url.as_ref().is_some_and(|url| !is_web(url)) {
        // The URL is not shown: it may hold a password.
        problems.push(entry.unusable("its baseUrl must begin with http:// or https://"));
    }
    let all = entry.below("models");
    let named = entry.object("models");
    let models = named
        .iter()
        .filter(|(_, settings)| settings.is_object())
        .map(|(model, _)| (model.clone(), settings(&all.below(model), problems)))
        .collect();
    Some(ProviderConfig {
        name: name.into(),
        kind: kind?,
        api_key: entry.secret("apiKey"),
        base_url,
        headers: entry.secrets("headers"),
        custom: entry.object("custom"),
        openai_mode,
        api_version: entry.text("apiVersion"),
        every_model: settings(entry, problems),
        models,
    })
}

/// What stands in a request anyway cannot be said a second time.
///
/// What bounds and pays a request is the kernel's: a field that asked for more replies or longer ones
/// would go past the budget.
fn refuse_own_fields(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) {
    const OWN: [&str; 22] = [
        "model",
        "messages",
        "prompt",
        "input",
        "contents",
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "tool_choice",
        "toolConfig",
        "tool_config",
        "stream",
        "store",
        "include",
        "thinking",
        // What bounds a reply is what the run reserves for it.
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "max_new_tokens",
        // It would stand beside the object of the other spelling.
        "generation_config",
    ];
    /// More replies than one, or those of another model.
    const WIDER: [&str; 3] = ["n", "best_of", "models"];
    for (field, value) in entry.object("custom") {
        let (field, why) = match field.as_str() {
            "generationConfig" => match own_within(&value) {
                Some(within) => (
                    format!("{field}{within}"),
                    "is already part of every request",
                ),
                None => continue,
            },
            own if OWN.contains(&own) => (field, "is already part of every request"),
            wider if WIDER.contains(&wider) => (field, "would cost money that no budget counts"),
            _ => continue,
        };
        let message = format!("its custom field {field:?} {why}");
        problems.push(entry.unusable(message));
    }
}

/// What of an object is ours, as the end of its path; all of it, where it would take the place of the object.
fn own_within(value: &Value) -> Option<String> {
    const OWN: [&str; 4] = [
        "maxOutputTokens",
        "max_output_tokens",
        "candidateCount",
        "candidate_count",
    ];
    let Value::Object(members) = value else {
        return Some(String::new());
    };
    let own = OWN.into_iter().find(|it| members.contains_key(*it));
    own.map(|member| format!(".{member}"))
}

/// A name that everybody knows needs no type.
fn kind(
    name: &str,
    entry: &ConfigEntry<'_>,
    problems: &mut Vec<ConfigError>,
) -> Option<ProviderKind> {
    match entry.text("type").as_deref() {
        Some("test-llm") => {
            let message = "the type test-llm is not supported; use script:FILE as the model";
            problems.push(entry.unusable(message));
            None
        }
        Some(_) => entry.word("type", &KINDS, problems),
        None => {
            let known = KINDS.iter().find(|(known, _)| *known == name);
            if known.is_none() {
                let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                let names = names.join(", ");
                let why = format!("it needs a type: one of {names}");
                problems.extend(entry.lacking(&["type"], why));
            }
            known.map(|(_, kind)| *kind)
        }
    }
}

fn settings(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> ModelConfig {
    ModelConfig {
        overrides: sampling(&entry.below("overrides")),
        reasoning: reasoning(entry),
        tool_choice: entry.word("toolChoice", &TOOL_CHOICES, problems),
        context_window_tokens: entry.measured("contextWindow", Measure::Tokens),
        tokenizer: entry.text("tokenizer"),
        context_window_buffer_tokens: entry.measured("contextWindowBufferTokens", Measure::Tokens),
        parallel_tool_calls: entry.flag("parallelToolCalls"),
        prompt_cache_key: entry.text("promptCacheKey"),
        service_tier: entry.text("serviceTier"),
        accepts: AcceptsConfig::read(&entry.below("accepts"), problems),
    }
}

fn sampling(entry: &ConfigEntry<'_>) -> Sampling {
    let real = |field| sent(entry.value(field), Value::as_f64);
    Sampling {
        temperature: real("temperature"),
        top_p: real("topP"),
        top_k: sent(entry.value("topK"), Value::as_u64),
        repeat_penalty: real("repeatPenalty"),
    }
}

/// A null takes the value out of the request.
fn sent<T>(value: Option<&Value>, read: fn(&Value) -> Option<T>) -> Option<Sent<T>> {
    match value? {
        Value::Null => Some(Sent::LeftOut),
        value => read(value).map(Sent::Value),
    }
}

/// Null says that the model has none, which is not the same as nothing said.
fn reasoning(entry: &ConfigEntry<'_>) -> Option<ReasoningMap> {
    match entry.value("reasoning")? {
        Value::Null => Some(ReasoningMap::Off),
        Value::Array(levels) => {
            let levels: [Value; 4] = levels.clone().try_into().ok()?;
            Some(ReasoningMap::Levels(levels))
        }
        value => Some(ReasoningMap::Value(value.clone())),
    }
}
