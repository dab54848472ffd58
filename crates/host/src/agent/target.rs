//! From a model's name to a target: what the configuration says of its provider, else what everybody knows.

use bonded_kernel::{Dialect, Reasoning, Sampling, Target, ToolChoice, Window};
use bonded_transport::tokens;
use serde_json::Value;

use super::{AgentError, absolute};
use crate::config::options::{
    Caching, ModelRef, Options, Reasoning as Asked, ReasoningLevel, ReasoningValue,
};
use crate::config::{
    Config, Environment, ModelConfig, OpenaiMode, ProviderConfig, ProviderKind, ReasoningMap, Sent,
    ToolChoice as Choice,
};
use crate::provider::{self, ProviderError, SCRIPT, TargetRequest};

/// The window of a model that nothing is known of.
const WINDOW_TOKENS: u64 = 131_072;

/// What is taken for the window of a model that nothing is known of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownWindow {
    /// The size that most models have by now: an agent's conversation is always guarded.
    Usual,
    /// It is not guarded.
    Open,
}

/// The targets that the options name, in the order in which they are tried.
pub fn all(
    config: &Config,
    options: &Options,
    environment: &Environment,
    unknown: UnknownWindow,
) -> Result<Vec<Target>, AgentError> {
    if options.models.is_empty() {
        return Err(AgentError::NoModel);
    }
    let one = |model: &ModelRef| target(model, config, options, environment, unknown);
    options.models.iter().map(one).collect()
}

fn target(
    model: &ModelRef,
    config: &Config,
    options: &Options,
    environment: &Environment,
    unknown: UnknownWindow,
) -> Result<Target, AgentError> {
    let provider = config.provider(&model.provider)?;
    let mut target = match &provider {
        Some(provider) => configured(provider, model, config)?,
        None => well_known(model, environment)?,
    };
    check_key(&target, provider.as_ref(), environment)?;
    let own = provider
        .map(|provider| provider.model(&model.model))
        .unwrap_or_default();
    target.stream = options.stream;
    target.timeout_ms = options.llm_timeout_ms;
    target.price = config
        .pricing(&model.provider, &model.model)?
        .map(|pricing| pricing.price());
    target.sampling = sampling(&own, options);
    target.window = window(&own, options, &model.model, unknown)?;
    Ok(target)
}

fn configured(
    provider: &ProviderConfig,
    model: &ModelRef,
    config: &Config,
) -> Result<Target, AgentError> {
    let usual = usual(provider.kind);
    let dialect = match (provider.kind, provider.openai_mode) {
        (ProviderKind::Openai, Some(OpenaiMode::Responses)) => Dialect::Responses,
        (ProviderKind::Anthropic, _) => Dialect::Messages,
        (ProviderKind::Google, _) => Dialect::Gemini,
        _ => Dialect::Chat,
    };
    let known = provider::by_name(usual);
    let endpoint = endpoint(provider)?;
    let has_secrets = provider.api_key.is_some() || !provider.headers.is_empty();
    let key_env = known.and_then(|known| known.key_env);
    // Many servers that are not OpenAI's speak its language, and take more settings than it does.
    let is_compatible = provider.kind == ProviderKind::Openai && provider.base_url.is_some();
    Ok(Target {
        dialect,
        family: (!is_compatible && provider.name != usual).then(|| usual.to_owned()),
        key_env: key_env
            .filter(|_| provider.api_key.is_none() && provider.base_url.is_none())
            .map(str::to_owned),
        secrets_in: if has_secrets {
            config.files().map(absolute).collect()
        } else {
            vec![]
        },
        ..Target::new(&provider.name, endpoint, &model.model)
    })
}

/// The name that everybody knows a kind of provider by.
fn usual(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Openai => "openai",
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Google => "google",
        ProviderKind::Openrouter => "openrouter",
        ProviderKind::Ollama => "ollama",
        ProviderKind::Lmstudio => "lmstudio",
        ProviderKind::Vllm => "vllm",
        ProviderKind::Llamacpp => "llamacpp",
    }
}

/// Where a provider of the configuration is: what that says, else what everybody knows.
pub(super) fn endpoint(provider: &ProviderConfig) -> Result<String, ProviderError> {
    match (&provider.base_url, provider::by_name(usual(provider.kind))) {
        (Some(url), _) => provider::checked_url(native_path(provider.kind, url)),
        (None, Some(known)) => Ok(known.endpoint.to_owned()),
        (None, None) => Err(provider::no_provider(&provider.name)),
    }
}

/// A provider that is known to want a key is not asked without one. Headers may hold the key, and a server
/// of one's own may want none.
fn check_key(
    target: &Target,
    provider: Option<&ProviderConfig>,
    environment: &Environment,
) -> Result<(), AgentError> {
    let Some(variable) = &target.key_env else {
        return Ok(());
    };
    let is_set = environment.get(variable).is_some_and(|key| !key.is_empty());
    let has_headers = provider.is_some_and(|provider| !provider.headers.is_empty());
    let is_known = provider::KNOWN_PROVIDERS
        .iter()
        .any(|known| known.endpoint == target.endpoint);
    if is_set || has_headers || !is_known {
        return Ok(());
    }
    Err(AgentError::NoKey {
        provider: target.provider.clone(),
        variable: variable.clone(),
    })
}

/// Ollama's own API lies beside the one that is spoken here.
fn native_path(kind: ProviderKind, url: &str) -> &str {
    let bare = url.trim_end_matches('/');
    match bare.strip_suffix("/api") {
        Some(_) if kind == ProviderKind::Ollama => bare,
        _ => url,
    }
}

fn well_known(model: &ModelRef, environment: &Environment) -> Result<Target, AgentError> {
    let name = match model.provider.as_str() {
        SCRIPT => format!("{SCRIPT}:{}", model.model),
        provider => format!("{provider}/{}", model.model),
    };
    let asked = TargetRequest {
        model: name,
        ..TargetRequest::default()
    };
    Ok(provider::resolve_target(&asked, |name| {
        environment.get(name).map(str::to_owned)
    })?)
}

/// The options, where neither the model nor its provider has a value of its own.
fn sampling(own: &ModelConfig, options: &Options) -> Sampling {
    let overrides = &own.overrides;
    Sampling {
        temperature: sent(overrides.temperature, options.temperature),
        top_p: sent(overrides.top_p, options.top_p),
        top_k: sent(overrides.top_k, options.top_k).and_then(|top_k| u32::try_from(top_k).ok()),
        repeat_penalty: sent(overrides.repeat_penalty, options.repeat_penalty),
        reasoning: reasoning(own, options),
        tool_choice: own.tool_choice.map(|choice| match choice {
            Choice::Auto => ToolChoice::Auto,
            Choice::Required => ToolChoice::Required,
        }),
        caching: options.caching == Caching::Full,
        ..Sampling::default()
    }
}

fn sent<T>(own: Option<Sent<T>>, option: Option<T>) -> Option<T> {
    match own {
        Some(Sent::Value(value)) => Some(value),
        Some(Sent::LeftOut) => None,
        None => option,
    }
}

fn reasoning(own: &ModelConfig, options: &Options) -> Option<Reasoning> {
    let level = match (options.reasoning_value(), options.reasoning) {
        (ReasoningValue::Null, _) => return Some(Reasoning::Off),
        (ReasoningValue::Tokens(tokens), _) => return Some(tokens_of(tokens)),
        (ReasoningValue::Unset, Asked::Level(level)) => level,
        (ReasoningValue::Unset, _) => return None,
    };
    match &own.reasoning {
        Some(ReasoningMap::Off) => None,
        Some(ReasoningMap::Value(value)) => named(value).or(Some(plain(level))),
        Some(ReasoningMap::Levels(values)) => named(&values[level as usize]).or(Some(plain(level))),
        None => Some(plain(level)),
    }
}

fn plain(level: ReasoningLevel) -> Reasoning {
    match level {
        ReasoningLevel::Minimal => Reasoning::Minimal,
        ReasoningLevel::Low => Reasoning::Low,
        ReasoningLevel::Medium => Reasoning::Medium,
        ReasoningLevel::High => Reasoning::High,
    }
}

/// What a configuration writes for a level: a number of tokens, or another level's name.
fn named(value: &Value) -> Option<Reasoning> {
    match value {
        Value::Number(number) => number.as_u64().map(tokens_of),
        Value::String(word) => ReasoningLevel::parse(word).map(plain),
        _ => None,
    }
}

fn tokens_of(tokens: u64) -> Reasoning {
    Reasoning::Tokens(u32::try_from(tokens).unwrap_or(u32::MAX))
}

fn window(
    own: &ModelConfig,
    options: &Options,
    model: &str,
    unknown: UnknownWindow,
) -> Result<Option<Window>, AgentError> {
    let vocabulary = match &own.tokenizer {
        Some(name) => tokens::vocabulary_named(name).map_err(|_| AgentError::UnknownTokenizer {
            name: name.clone(),
            model: model.to_owned(),
        })?,
        None => tokens::vocabulary_of(model),
    };
    let said = options.context_window_tokens.or(own.context_window_tokens);
    let usual = (unknown == UnknownWindow::Usual).then_some(WINDOW_TOKENS);
    Ok(said.or(usual).map(|tokens| Window {
        tokens,
        buffer: own
            .context_window_buffer_tokens
            .unwrap_or(options.context_window_buffer_tokens),
        vocabulary,
    }))
}
