//! From a model's name to a target: what the configuration says of its provider, else what everybody knows.
//!
//! A target is all that a request needs besides its key: the address, the dialect, what the model
//! accepts, its window and its price. It is frozen in the run's log, so that a run that is taken up
//! again asks the same model in the same way.
//!
//! For each value the order is the same: what the person says for the model, then for the provider,
//! then what is known of the model, then what is assumed. Whose word the window and the price are is
//! kept beside them.

use bonded_kernel::{
    Dialect, OpenWindow, PenaltyField, Reasoning, Sampling, Target, ThinkingForm, ToolChoice,
    WindowSource,
};
use bonded_transport::{dialect, models, tokens};
use serde_json::Value;

use super::{AgentError, absolute};
use crate::config::options::{
    Caching, ModelRef, Options, Reasoning as Asked, ReasoningLevel, ReasoningValue,
};
use crate::config::{
    Config, Environment, ModelConfig, ProviderConfig, ProviderKind, ReasoningMap, Sent,
    ToolChoice as Choice,
};
use crate::provider::{self, ProviderError, SCRIPT, TargetRequest};

/// The window of a model that nothing is known of.
pub const WINDOW_TOKENS: u64 = 131_072;

/// What is taken for the window of a model that nothing is known of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownWindow {
    /// The size that most models have by now: an agent's conversation is always guarded.
    Assumed,
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

/// The key is checked before anything else of the target is settled. What the model accepts is settled
/// after the dialect, which is part of what is known.
pub(super) fn target(
    model: &ModelRef,
    config: &Config,
    options: &Options,
    environment: &Environment,
    unknown: UnknownWindow,
) -> Result<Target, AgentError> {
    let provider = config.provider(&model.provider)?;
    let mut target = match &provider {
        Some(provider) => configured(provider, model, config, environment)?,
        None => well_known(model, environment)?,
    };
    check_key(&target, provider.as_ref(), environment)?;
    let own = provider
        .as_ref()
        .map(|provider| provider.model(&model.model))
        .unwrap_or_default();
    target.stream = options.stream;
    target.timeout_ms = options.llm_timeout_ms;
    let mode = provider.as_ref().and_then(|provider| provider.openai_mode);
    let mode = options.openai_mode.or(mode);
    target.dialect = provider::dialect_at(target.dialect, &target.endpoint, mode);
    let known_as = own.accepts.like.as_deref().unwrap_or(&model.model);
    target.sampling = sampling(&own, options);
    set_window(&mut target, &own, options, known_as, unknown)?;
    let like = own.accepts.like.clone();
    if let Some(like) = like.filter(|like| models::family(like).is_none()) {
        return Err(AgentError::UnknownLike {
            provider: model.provider.clone(),
            model: model.model.clone(),
            like,
        });
    }
    let accepts = own.accepts.applied_to(dialect::known_as(&target, known_as));
    target.accepts = Some(Box::new(accepts.map_err(|why| AgentError::Accepts {
        provider: model.provider.clone(),
        model: model.model.clone(),
        why,
    })?));
    let is_by_variable = provider.as_ref().is_none_or(|it| it.base_url.is_none());
    target.custom = provider.map(|provider| provider.custom).unwrap_or_default();
    match config.pricing(&model.provider, &model.model)? {
        Some(pricing) => target.price = Some(pricing.price()),
        None => {
            let variable = |name: &str| environment.get(name).map(str::to_owned);
            list_price(&mut target);
            if is_by_variable && target.price.is_none() {
                list_price_behind(&mut target, variable);
            }
        }
    }
    Ok(target)
}

/// Gives a target the price that is listed for it, if one is, in place of any other.
pub fn list_price(target: &mut Target) {
    target.price = models::listed_price(target);
    target.price_listed = target.price.map(|_| models::listed_on().to_owned());
}

/// Gives a target the price of the service whose own variable (`OPENAI_BASE_URL`) has it asked elsewhere, if that lists
/// one: a gateway stands there more often than another service.
pub fn list_price_behind(target: &mut Target, variable: impl Fn(&str) -> Option<String>) {
    let known = provider::by_name(target.family());
    let Some(known) = known.filter(|it| it.endpoint_by(variable) == target.endpoint) else {
        return;
    };
    target.price = models::listed_price_behind(known.name, target);
    target.price_listed = target.price.map(|_| models::listed_on().to_owned());
}

/// What a target costs, where nobody but a list says it.
pub fn listed(target: &Target) -> Option<String> {
    let (price, day) = (target.price?, target.price_listed.as_ref()?);
    let dollars = |micro: u64| micro as f64 / 1e6;
    let long = price.above.map(|long| {
        let (input, output) = (dollars(long.input), dollars(long.output));
        let tokens = long.tokens;
        format!(" (${input} and ${output} where more than {tokens} tokens go in)")
    });
    let is_elsewhere = models::Service::at(&target.endpoint).is_none() && !day.contains(' ');
    let elsewhere = is_elsewhere.then(|| {
        let (name, endpoint) = (target.family(), &target.endpoint);
        format!(" for {name} itself; what {endpoint} charges may differ")
    });
    Some(format!(
        "{}/{} costs ${} for a million tokens in and ${} for a million out{}, as listed on {day}{}",
        target.provider,
        target.model,
        dollars(price.input),
        dollars(price.output),
        long.unwrap_or_default(),
        elsewhere.unwrap_or_default()
    ))
}

/// A target that no configuration knows, as the options want it asked.
#[must_use]
pub fn unconfigured(mut target: Target, options: &Options) -> Target {
    target.dialect = provider::dialect_at(target.dialect, &target.endpoint, options.openai_mode);
    target.sampling = sampling(&ModelConfig::default(), options);
    target.accepts = Some(Box::new(dialect::known(&target)));
    list_price(&mut target);
    let (own, model) = (ModelConfig::default(), target.model.clone());
    // Without a tokenizer of its own nothing can be wrong with it.
    let _ = set_window(&mut target, &own, options, &model, UnknownWindow::Open);
    target
}

/// What was asked for and is not sent, because the model does not take it or something else stands there.
///
/// These are told to a person. They are no errors: one set of options is used with several models in
/// turn.
pub fn unsent(target: &Target) -> Vec<String> {
    let Some(accepts) = target.accepts.as_deref() else {
        return vec![];
    };
    let Target {
        sampling,
        provider,
        model,
        ..
    } = target;
    let excluded = sampling.temperature.is_some() && !accepts.temperature_with_top_p;
    let left_out = [
        (
            "temperature",
            sampling.temperature.is_some() && accepts.temperature_max.is_none(),
        ),
        (
            "topP",
            sampling.top_p.is_some() && (!accepts.top_p || excluded),
        ),
        ("topK", sampling.top_k.is_some() && !accepts.top_k),
        (
            "repeatPenalty",
            sampling.repeat_penalty.is_some() && accepts.penalty == PenaltyField::None,
        ),
        (
            "reasoning",
            thinks(sampling) && accepts.thinking == ThinkingForm::None,
        ),
        (
            "parallelToolCalls",
            sampling.parallel_tool_calls.is_some() && !accepts.parallel_tool_calls,
        ),
        (
            "promptCacheKey",
            sampling.prompt_cache_key.is_some() && !accepts.prompt_cache_key,
        ),
        (
            "serviceTier",
            sampling.service_tier.is_some() && !accepts.service_tier,
        ),
    ];
    let names = left_out.iter().filter(|(_, is)| *is).map(|(name, _)| name);
    let unsent =
        names.map(|name| format!("{provider}/{model} does not accept {name}: it is not sent"));
    let overruled = dialect::overruled(target).into_iter().map(|path| {
        format!(
            "the field {path:?} of `custom` is not sent to {provider}/{model}: another setting sets it"
        )
    });
    unsent.chain(overruled).collect()
}

/// Whether reasoning was asked for; to switch it off is no wish that could be left unsent.
fn thinks(sampling: &Sampling) -> bool {
    sampling
        .reasoning
        .is_some_and(|it| !matches!(it, Reasoning::Off | Reasoning::Tokens(0)))
}

/// A provider that has an address of its own gets no key from a variable: the variable's key belongs to
/// the service that everybody knows, and would otherwise be sent to whoever the file names.
fn configured(
    provider: &ProviderConfig,
    model: &ModelRef,
    config: &Config,
    environment: &Environment,
) -> Result<Target, AgentError> {
    let known_name = known_name(provider.kind);
    let known = provider::by_name(known_name);
    let dialect = known.map_or(Dialect::Chat, |known| known.dialect);
    let endpoint = endpoint(provider, &model.model, environment)?;
    let has_secrets = provider.api_key.is_some() || !provider.headers.is_empty();
    // A key of the configuration, or for an address of it, is none of the variables'.
    let leaves_key = provider.api_key.is_none() && provider.base_url.is_none();
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let key = match (leaves_key, provider.kind) {
        (false, _) => None,
        (true, ProviderKind::Azure) => Some(provider::azure_key(variable)),
        (true, _) => known.and_then(|known| known.key(variable)),
    };
    let key_header = match key {
        Some(key) => key.header,
        None => (provider.kind == ProviderKind::Azure).then_some(provider::AZURE_KEY_HEADER),
    };
    // Many servers that are not OpenAI's speak its language, and take more settings than it does.
    let is_its_own = provider.base_url.is_none() && known.is_some_and(|it| it.endpoint == endpoint);
    let is_compatible = provider.kind == ProviderKind::Openai && !is_its_own;
    Ok(Target {
        dialect,
        key_header: key_header.map(str::to_owned),
        family: (!is_compatible && provider.name != known_name).then(|| known_name.to_owned()),
        key_env: key.map(|key| key.name.to_owned()),
        secrets_in: if has_secrets {
            config.files().map(absolute).collect()
        } else {
            vec![]
        },
        ..Target::new(&provider.name, endpoint, &model.model)
    })
}

/// The name that everybody knows a kind of provider by.
fn known_name(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Openai => "openai",
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Google => "google",
        ProviderKind::Openrouter => "openrouter",
        ProviderKind::Ollama => "ollama",
        ProviderKind::Lmstudio => "lmstudio",
        ProviderKind::Vllm => "vllm",
        ProviderKind::Llamacpp => "llamacpp",
        ProviderKind::Azure => "azure",
        ProviderKind::Mistral => "mistral",
        ProviderKind::Deepseek => "deepseek",
        ProviderKind::Xai => "xai",
        ProviderKind::Groq => "groq",
        ProviderKind::Bedrock => "bedrock",
        ProviderKind::Compatible => "openai-compatible",
    }
}

/// Where a model of a provider of the configuration is: what that says, else what the variables of the service's own
/// client say, else what everybody knows.
pub(super) fn endpoint(
    provider: &ProviderConfig,
    model: &str,
    environment: &Environment,
) -> Result<String, ProviderError> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    if provider.kind == ProviderKind::Azure {
        let (url, version) = (provider.base_url.clone(), provider.api_version.clone());
        return provider::azure_at(url, version, model, variable);
    }
    match (
        &provider.base_url,
        provider::by_name(known_name(provider.kind)),
    ) {
        (Some(url), _) => provider::checked_url(native_path(provider.kind, url)),
        (None, Some(known)) => provider::checked_url(&known.endpoint_by(variable)),
        (None, None) => Err(provider::no_provider(&provider.name)),
    }
}

/// A provider that is known to want a key is not asked without one. Headers may hold the key, and a server
/// of one's own may want none.
///
/// Found here and not with the first request, so that a run does not begin and fail at once. Only the
/// addresses that everybody knows are held to it.
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
///
/// For Ollama an address that ends in `/api` loses a slash at its end; all others stay as they are
/// written.
fn native_path(kind: ProviderKind, url: &str) -> &str {
    let bare = url.trim_end_matches('/');
    match bare.strip_suffix("/api") {
        Some(_) if kind == ProviderKind::Ollama => bare,
        _ => url,
    }
}

/// A provider that the configuration does not have is resolved as on a command line without one.
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
        parallel_tool_calls: own.parallel_tool_calls,
        prompt_cache_key: own.prompt_cache_key.clone(),
        service_tier: own.service_tier.clone(),
    }
}

/// An explicit null of the model takes the option back: nothing is sent.
fn sent<T>(own: Option<Sent<T>>, option: Option<T>) -> Option<T> {
    match own {
        Some(Sent::Value(value)) => Some(value),
        Some(Sent::LeftOut) => None,
        None => option,
    }
}

/// A number of tokens counts more than a level, and a level is translated by what the configuration
/// says of the model. A model whose configuration switches reasoning off is sent nothing, where a run
/// that wants it off says so.
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
        // Four levels are named; what lies above the last is the last.
        Some(ReasoningMap::Levels(values)) => {
            named(&values[(level as usize).min(values.len() - 1)]).or(Some(plain(level)))
        }
        None => Some(plain(level)),
    }
}

fn plain(level: ReasoningLevel) -> Reasoning {
    match level {
        ReasoningLevel::Minimal => Reasoning::Minimal,
        ReasoningLevel::Low => Reasoning::Low,
        ReasoningLevel::Medium => Reasoning::Medium,
        ReasoningLevel::High => Reasoning::High,
        ReasoningLevel::XHigh => Reasoning::XHigh,
        ReasoningLevel::Max => Reasoning::Max,
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

/// More than 32 bits hold is as much as there is.
fn tokens_of(tokens: u64) -> Reasoning {
    Reasoning::Tokens(u32::try_from(tokens).unwrap_or(u32::MAX))
}

/// Gives a target its window, and says whose word that is. What nobody says here, its server may.
///
/// What is said for the run counts more than what is said for the model. A window that is known closes
/// `window_open`, which holds what is needed to set one later.
fn set_window(
    target: &mut Target,
    own: &ModelConfig,
    options: &Options,
    model: &str,
    unknown: UnknownWindow,
) -> Result<(), AgentError> {
    let vocabulary = match &own.tokenizer {
        Some(name) => tokens::vocabulary_named(name).map_err(|_| AgentError::UnknownTokenizer {
            name: name.clone(),
            model: model.to_owned(),
        })?,
        None => tokens::vocabulary_of(model),
    };
    let buffer = own.context_window_buffer_tokens;
    let buffer = buffer.unwrap_or(options.context_window_buffer_tokens);
    target.window_open = OpenWindow { buffer, vocabulary };
    let configured = options.context_window_tokens.or(own.context_window_tokens);
    let listed = models::window(&target.endpoint, model);
    let assumed = (unknown == UnknownWindow::Assumed).then_some(WINDOW_TOKENS);
    let sources = [
        (configured, WindowSource::Configured),
        (listed, WindowSource::Table),
        (assumed, WindowSource::Assumed),
    ];
    let mut known = sources.into_iter();
    if let Some((tokens, source)) = known.find_map(|(tokens, source)| Some((tokens?, source))) {
        target.window = Some(target.window_of(tokens));
        target.window_source = Some(source);
        target.window_open = OpenWindow::default();
    }
    Ok(())
}
