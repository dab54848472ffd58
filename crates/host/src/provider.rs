//! From what a person says of a model to a target: names that everybody knows, and where their keys lie.

use bonded_kernel::{Dialect, Price, Target};
use bonded_transport::models::Service;

use crate::config::OpenaiMode;

/// A provider that needs no more than its name.
#[derive(Clone, Copy, Debug)]
pub struct KnownProvider {
    pub name: &'static str,
    pub endpoint: &'static str,
    /// The variable that holds its key; local servers have none.
    pub key_env: Option<&'static str>,
    /// Set, this variable replaces the endpoint.
    pub endpoint_env: Option<&'static str>,
    /// How it is spoken to where it is itself, and not a server that speaks like it.
    pub dialect: Dialect,
}

pub const KNOWN_PROVIDERS: &[KnownProvider] = &[
    KnownProvider {
        name: "openai",
        endpoint: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        endpoint_env: Some("OPENAI_BASE_URL"),
        dialect: Dialect::Responses,
    },
    KnownProvider {
        name: "anthropic",
        endpoint: "https://api.anthropic.com/v1",
        key_env: Some("ANTHROPIC_API_KEY"),
        endpoint_env: Some("ANTHROPIC_BASE_URL"),
        dialect: Dialect::Messages,
    },
    KnownProvider {
        name: "google",
        endpoint: "https://generativelanguage.googleapis.com/v1beta",
        key_env: Some("GEMINI_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Gemini,
    },
    KnownProvider {
        name: "openrouter",
        endpoint: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "mistral",
        endpoint: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "deepseek",
        endpoint: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "xai",
        endpoint: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "groq",
        endpoint: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "lmstudio",
        endpoint: "http://127.0.0.1:1234/v1",
        key_env: None,
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "ollama",
        endpoint: "http://127.0.0.1:11434/v1",
        key_env: None,
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "vllm",
        endpoint: "http://127.0.0.1:8000/v1",
        key_env: None,
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "llamacpp",
        endpoint: "http://127.0.0.1:8080/v1",
        key_env: None,
        endpoint_env: None,
        dialect: Dialect::Chat,
    },
];

/// The provider that everybody knows by this name.
pub(crate) fn by_name(name: &str) -> Option<&'static KnownProvider> {
    KNOWN_PROVIDERS.iter().find(|known| known.name == name)
}

pub(crate) fn no_provider(model: &str) -> ProviderError {
    let known: Vec<&str> = KNOWN_PROVIDERS.iter().map(|known| known.name).collect();
    ProviderError::NoProvider {
        model: model.to_owned(),
        known: known.join(", "),
    }
}

/// The name of the provider that plays a file.
pub const SCRIPT: &str = "script";

/// What a person said.
#[derive(Clone, Debug, Default)]
pub struct TargetRequest {
    /// `PROVIDER/MODEL`, `script:FILE`, or with a base URL the model alone.
    pub model: String,
    pub base_url: Option<String>,
    pub key_env: Option<String>,
    pub stream: bool,
    pub timeout_ms: u64,
    pub price: Option<Price>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    #[error(
        "{model:?} names no provider; write PROVIDER/MODEL with one of {known}, script:FILE, or give a base URL"
    )]
    NoProvider { model: String, known: String },
    #[error("{model:?} names no model; write {provider}/MODEL")]
    NoModel { model: String, provider: String },
    #[error("the base URL {url:?} does not begin with http:// or https://")]
    BadUrl { url: String },
    #[error(
        "the base URL holds a user name or password; put the key into a variable and name it with --key-env"
    )]
    SecretInUrl,
    #[error(
        "nobody says where Azure is; set AZURE_OPENAI_ENDPOINT to your resource's address, or write its baseUrl into \
         the configuration"
    )]
    NoAzureEndpoint,
    #[error("the script {path:?} cannot be found from here")]
    NoScript { path: String },
    #[error(
        "the key of {provider} is for another place than {endpoint:?}; whoever holds it lists where it may go"
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
    // Empty means unset.
    let named = provider.endpoint_env.and_then(&env);
    let named = named.filter(|url| !url.trim().is_empty());
    let endpoint = checked_url(named.as_deref().unwrap_or(provider.endpoint))?;
    let key_env = asked
        .key_env
        .clone()
        .or(provider.key_env.map(str::to_owned));
    let dialect = dialect_at(provider.dialect, &endpoint, None);
    Ok(Target {
        dialect,
        ..target(asked, provider.name, endpoint, model, key_env)
    })
}

/// Responses are spoken where OpenAI itself is; servers that speak its language speak chat completions.
pub(crate) fn dialect_at(dialect: Dialect, endpoint: &str, mode: Option<OpenaiMode>) -> Dialect {
    let speaks_openai = matches!(dialect, Dialect::Chat | Dialect::Responses);
    let is_openai = || {
        let name = Service::at(endpoint).map(|service| service.name);
        // Azure has them under the address that needs no version.
        name == Some("openai") || name == Some("azure") && endpoint.ends_with("/openai/v1")
    };
    match mode {
        _ if !speaks_openai => dialect,
        Some(OpenaiMode::Responses) => Dialect::Responses,
        Some(OpenaiMode::Chat) => Dialect::Chat,
        None if is_openai() => Dialect::Responses,
        None => Dialect::Chat,
    }
}

/// The variable that holds the key of a resource at Azure, as OpenAI's own clients name it.
pub(crate) const AZURE_KEY: &str = "AZURE_OPENAI_API_KEY";

/// The header that Azure wants a key in.
pub(crate) const AZURE_KEY_HEADER: &str = "api-key";

/// A deployment at Azure, from the variables that OpenAI's own clients read.
fn azure_target(
    asked: &TargetRequest,
    deployment: &str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Target, ProviderError> {
    if deployment.is_empty() {
        return Err(ProviderError::NoModel {
            model: asked.model.clone(),
            provider: "azure".into(),
        });
    }
    let resource = env("AZURE_OPENAI_ENDPOINT").filter(|url| !url.is_empty());
    let resource = resource.ok_or(ProviderError::NoAzureEndpoint)?;
    let version = env("OPENAI_API_VERSION").filter(|version| !version.is_empty());
    let endpoint = checked_url(&azure_endpoint(&resource, version.as_deref(), deployment))?;
    let key_env = asked.key_env.clone().or(Some(AZURE_KEY.to_owned()));
    Ok(Target {
        key_header: Some(AZURE_KEY_HEADER.into()),
        ..target(asked, "azure", endpoint, deployment, key_env)
    })
}

/// Where a deployment is: with a version of the API as every client knows it, else under the address that needs none.
/// An address that names more than the resource is taken as it is.
pub(crate) fn azure_endpoint(url: &str, version: Option<&str>, deployment: &str) -> String {
    let bare = url.trim_end_matches('/');
    match version {
        _ if bare.contains("/openai/") => bare.to_owned(),
        Some(version) => {
            let bare = bare.trim_end_matches("/openai");
            let (deployment, version) = (escaped(deployment), escaped(version));
            format!("{bare}/openai/deployments/{deployment}?api-version={version}")
        }
        None => format!("{}/openai/v1", bare.trim_end_matches("/openai")),
    }
}

/// A name that is no more than a name in an address, whoever wrote it.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let is_dots = name.bytes().all(|byte| byte == b'.');
    name.bytes().fold(String::new(), |mut all, byte| {
        match plain(byte) || byte == b'.' && !is_dots {
            true => all.push(char::from(byte)),
            false => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}

fn script_target(asked: &TargetRequest, path: &str) -> Result<Target, ProviderError> {
    // A resume may happen in another directory, so the path must not depend on this one.
    let absolute = std::path::absolute(path).ok().filter(|path| path.is_file());
    match absolute.as_deref().and_then(std::path::Path::to_str) {
        Some(absolute) => Ok(target(asked, SCRIPT, absolute.into(), "script", None)),
        None => Err(ProviderError::NoScript { path: path.into() }),
    }
}

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
pub(crate) fn checked_url(url: &str) -> Result<String, ProviderError> {
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
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_a_name_under_the_persons_own_resource_whatever_it_is_called() {
        let resource = "https://ours.openai.azure.com";
        for (deployment, version, expected) in [
            (
                "gpt",
                Some("2025-04-01"),
                "/openai/deployments/gpt?api-version=2025-04-01",
            ),
            (
                "gpt-4.1",
                Some("v"),
                "/openai/deployments/gpt-4.1?api-version=v",
            ),
            (
                "../x?y#z",
                Some("a&b"),
                "/openai/deployments/..%2Fx%3Fy%23z?api-version=a%26b",
            ),
            ("..", Some("v"), "/openai/deployments/%2E%2E?api-version=v"),
            ("@evil.example", None, "/openai/v1"),
        ] {
            let endpoint = azure_endpoint(resource, version, deployment);
            assert_eq!(endpoint, format!("{resource}{expected}"));
        }
        let whole = "https://ours.openai.azure.com/openai/deployments/d?api-version=1";
        assert_eq!(azure_endpoint(whole, Some("2"), "x"), whole);
    }
}
