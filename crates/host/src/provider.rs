//! From what a person says of a model to a target: well-known names, and where their keys are.
//!
//! A provider of this list needs no configuration: its name, the model and a variable with the key are
//! enough. Addresses and variables follow the services' own clients, so that whoever has those set up
//! needs nothing more.
//!
//! A key goes only where it belongs: with a base URL no key is sent unless the person names its
//! variable.

mod azure;
mod known;

use bonded_kernel::{Dialect, Price, Target, nearest, short};
use bonded_transport::dialect;
use bonded_transport::models::{ModelRow, Service};

use azure::{AZURE_KEYS, azure_target};
use known::{TOKEN_HEADER, first_set};

pub use azure::{AZURE_KEY_HEADER, azure_endpoint};
pub(crate) use azure::{azure_at, azure_key};
pub use known::{KNOWN_PROVIDERS, KeyVariable, KnownProvider, by_name};

/// The error that says what was probably meant: the provider, or for a bare model one that has it.
pub fn no_provider(model: &str) -> ProviderError {
    let Some((provider, rest)) = model.split_once('/') else {
        return ProviderError::BareModel {
            model: short(model),
            meant: meant_model(model),
        };
    };
    let known = KNOWN_PROVIDERS.iter().map(|known| known.name);
    let meant = nearest(provider, known.chain(["azure"]));
    let meant = meant.map(|meant| match rest {
        "" => meant.to_owned(),
        rest => format!("{meant}/{}", short(rest)),
    });
    let provider = match (&meant, rest) {
        (None, rest) if !rest.is_empty() => format!("{} ({})", short(provider), short(model)),
        _ => short(provider),
    };
    ProviderError::NoProvider { provider, meant }
}

/// `PROVIDER/MODEL` for a bare name, looked up in the lists of all providers: the model of this name, else the one that
/// is nearest to it.
pub fn meant_model(name: &str) -> Option<String> {
    let rows = || ModelRow::rows().filter(|row| by_name(row.service).is_some());
    let meant = match rows().find(|row| row.model == name) {
        Some(row) => row.model,
        None => nearest(name, rows().map(|row| row.model))?,
    };
    let row = rows().find(|row| row.model == meant)?;
    Some(format!("{}/{}", row.service, row.model))
}

/// What to write in place of a model that leads nowhere.
fn write_instead(meant: Option<&str>) -> String {
    match meant {
        Some(meant) => format!("Did you mean {meant}?"),
        None => {
            "Write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE, or give a base URL"
                .into()
        }
    }
}

/// The name of the provider that plays a file.
pub const SCRIPT: &str = "script";

/// What a person said.
#[derive(Clone, Debug, Default)]
pub struct TargetRequest {
    /// `PROVIDER/MODEL`, `script:FILE`, or with a base URL the model alone.
    pub model: String,
    /// An address of one's own; the provider is called `custom` then.
    pub base_url: Option<String>,
    /// The variable to take the key from, in place of the usual one.
    pub key_env: Option<String>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Milliseconds until a model that says nothing has failed.
    pub timeout_ms: u64,
    /// What the person says that it costs.
    pub price: Option<Price>,
}

/// Why a model's name does not lead to a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Nothing before a slash that anybody knows.
    #[error("there is no provider {provider}. {}", write_instead(meant.as_deref()))]
    NoProvider {
        /// As it was written, shortened, with the model where nothing else names it.
        provider: String,
        /// What was probably meant.
        meant: Option<String>,
    },
    /// No slash at all.
    #[error("{model} has no provider. {}", write_instead(meant.as_deref()))]
    BareModel {
        /// As it was written, shortened.
        model: String,
        /// The model that was probably meant, with its provider.
        meant: Option<String>,
    },
    /// A provider and nothing after the slash.
    #[error("{model:?} does not name a model; write {provider}/MODEL")]
    NoModel { model: String, provider: String },
    /// Not an address of the web.
    #[error("the base URL {url:?} does not begin with http:// or https://")]
    BadUrl { url: String },
    /// The address would stand in the log, so it must hold no password.
    #[error(
        "the base URL holds a user name or password; put the key into a variable and name it with --key-env"
    )]
    SecretInUrl,
    /// Azure has no address that everybody knows.
    #[error(
        "the address of Azure is not set; set AZURE_OPENAI_ENDPOINT to your resource's address, or add its baseUrl to the configuration"
    )]
    NoAzureEndpoint,
    /// The file of a script does not exist.
    #[error("script {path:?} not found")]
    NoScript { path: String },
    /// A key would go to an address that its holder does not list.
    #[error(
        "the key of {provider} may not be sent to {endpoint:?}; the owner of the key lists the addresses that may get it"
    )]
    Misdirected { provider: String, endpoint: String },
}

/// Finds the endpoint of a model. `env` looks a variable up.
pub fn resolve_target(
    asked: &TargetRequest,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Target, ProviderError> {
    if let Some(path) = asked.model.strip_prefix("script:") {
        return script_target(asked, path);
    }
    if let Some(url) = &asked.base_url {
        let endpoint = checked_url(url)?;
        return Ok(target(
            asked,
            "custom",
            endpoint,
            &asked.model,
            asked.key_env.clone(),
        ));
    }
    if let Some(deployment) = asked.model.strip_prefix("azure/") {
        return azure_target(asked, deployment, env);
    }
    let split = asked.model.split_once('/');
    let known = split.and_then(|(name, model)| Some((by_name(name)?, model)));
    let Some((provider, model)) = known else {
        return Err(no_provider(&asked.model));
    };
    if model.is_empty() {
        return Err(ProviderError::NoModel {
            model: asked.model.clone(),
            provider: provider.name.into(),
        });
    }
    let endpoint = checked_url(&provider.endpoint_by(&env))?;
    let key = provider.key(&env);
    let default = key.map(|key| key.name.to_owned());
    let key_env = asked.key_env.clone().or(default);
    let key_header = key.and_then(|key| key.header);
    let dialect = dialect_at(provider.dialect, &endpoint, None);
    Ok(Target {
        dialect,
        key_header: key_header
            .filter(|_| asked.key_env.is_none())
            .map(str::to_owned),
        ..target(asked, provider.name, endpoint, model, key_env)
    })
}

/// What a person is told whose variables hold two keys for a target: its own client takes the first of them too.
pub fn shadowed_key(target: &Target, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let keys = match target.provider.as_str() {
        "azure" => AZURE_KEYS,
        name => by_name(name)?.keys,
    };
    let used = target.key_env.as_deref()?;
    let (at, _) = keys.iter().enumerate().find(|(_, key)| key.name == used)?;
    let other = first_set(&keys[at + 1..], env)?;
    let provider = &target.provider;
    Some(format!(
        "both {used} and {} are set: {provider} is asked with {used}",
        other.name
    ))
}

/// Takes the key from the variable that a person names, in the header that keys are usually shown in.
pub fn take_key_from(target: &mut Target, variable: &str) {
    target.key_env = Some(variable.to_owned());
    if target.key_header.as_deref() == Some(TOKEN_HEADER) {
        let is_azure = target.family() == "azure";
        target.key_header = is_azure.then(|| AZURE_KEY_HEADER.to_owned());
    }
}

/// The headers that name the account that a key of OpenAI is used for, from the variables that its own client reads. They
/// go where that key goes, and nowhere else.
pub fn account_headers(
    target: &Target,
    env: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    const HEADERS: [(&str, &str); 2] = [
        ("OPENAI_ORG_ID", "OpenAI-Organization"),
        ("OPENAI_PROJECT_ID", "OpenAI-Project"),
    ];
    const KEY: &str = "OPENAI_API_KEY";
    let is_key = target.key_env.as_deref() == Some(KEY) && target.family() == "openai";
    // Without the key they would only hide that there is none.
    if !is_key || env(KEY).is_none() {
        return vec![];
    }
    let set = HEADERS
        .into_iter()
        .filter_map(|(name, header)| Some((header, env(name)?)));
    let set = set.filter(|(_, value)| !value.trim().is_empty());
    set.map(|(header, value)| (header.to_owned(), value))
        .collect()
}

/// Which of OpenAI's two APIs is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenaiMode {
    /// Responses at OpenAI itself, chat completions everywhere else.
    Auto,
    /// The responses API, wherever the address leads.
    Responses,
    /// Chat completions, wherever the address leads.
    Chat,
}

/// Responses are spoken where OpenAI itself is; servers that speak its language speak chat completions.
pub fn dialect_at(dialect: Dialect, endpoint: &str, mode: Option<OpenaiMode>) -> Dialect {
    let speaks_openai = dialect::is_openai(dialect);
    let is_openai = || {
        let name = Service::at(endpoint).map(|service| service.name);
        // Azure has them under the address that needs no version.
        name == Some("openai") || name == Some("azure") && endpoint.ends_with("/openai/v1")
    };
    match mode {
        _ if !speaks_openai => dialect,
        Some(OpenaiMode::Responses) => Dialect::Responses,
        Some(OpenaiMode::Chat) => Dialect::Chat,
        Some(OpenaiMode::Auto) | None if is_openai() => Dialect::Responses,
        Some(OpenaiMode::Auto) | None => Dialect::Chat,
    }
}

/// Made absolute at once, and checked to be there.
fn script_target(asked: &TargetRequest, path: &str) -> Result<Target, ProviderError> {
    // A resume may happen in another directory, so the path must not depend on this one.
    let absolute = std::path::absolute(path).ok().filter(|path| path.is_file());
    match absolute.as_deref().and_then(std::path::Path::to_str) {
        Some(absolute) => Ok(target(asked, SCRIPT, absolute.into(), "script", None)),
        None => Err(ProviderError::NoScript { path: path.into() }),
    }
}

/// The parts that all targets have in common.
fn target(
    asked: &TargetRequest,
    provider: &str,
    endpoint: String,
    model: &str,
    key_env: Option<String>,
) -> Target {
    Target {
        key_env,
        stream: asked.stream,
        timeout_ms: asked.timeout_ms,
        price: asked.price,
        ..Target::new(provider, endpoint, model)
    }
}

/// The log keeps the endpoint, so a secret must not be in it.
pub fn checked_url(url: &str) -> Result<String, ProviderError> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .ok_or_else(|| ProviderError::BadUrl { url: url.into() })?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(ProviderError::SecretInUrl);
    }
    Ok(url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
