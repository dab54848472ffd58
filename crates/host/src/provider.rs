//! From what a person says of a model to a target: names that everybody knows, and where their keys lie.

use bonded_kernel::{Dialect, Price, Target, did_you_mean, nearest};
use bonded_transport::dialect;
use bonded_transport::models::Service;

use crate::config::OpenaiMode;

/// A variable that holds a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyVariable {
    pub name: &'static str,
    /// The header that this key is shown in, where it is not the dialect's own.
    pub header: Option<&'static str>,
}

/// The header that tokens are shown in.
const TOKEN_HEADER: &str = "authorization";

/// A provider that needs no more than its name.
#[derive(Clone, Copy, Debug)]
pub struct KnownProvider {
    pub name: &'static str,
    pub endpoint: &'static str,
    /// The variable that usually holds its key; local servers have none.
    pub key_env: Option<&'static str>,
    /// The variables that its own client takes a key from, where there is more than the usual one: the first that is
    /// set counts.
    pub keys: &'static [KeyVariable],
    /// Set, this variable replaces the endpoint.
    pub endpoint_env: Option<&'static str>,
    /// What its own client puts after the address in that variable, where the address does not have it.
    pub endpoint_suffix: Option<&'static str>,
    /// How it is spoken to where it is itself, and not a server that speaks like it.
    pub dialect: Dialect,
}

pub const KNOWN_PROVIDERS: &[KnownProvider] = &[
    KnownProvider {
        name: "openai",
        endpoint: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        keys: &[],
        endpoint_env: Some("OPENAI_BASE_URL"),
        endpoint_suffix: None,
        dialect: Dialect::Responses,
    },
    KnownProvider {
        name: "anthropic",
        endpoint: "https://api.anthropic.com/v1",
        key_env: Some("ANTHROPIC_API_KEY"),
        keys: &[
            KeyVariable {
                name: "ANTHROPIC_API_KEY",
                header: None,
            },
            KeyVariable {
                name: "ANTHROPIC_AUTH_TOKEN",
                header: Some(TOKEN_HEADER),
            },
        ],
        endpoint_env: Some("ANTHROPIC_BASE_URL"),
        endpoint_suffix: None,
        dialect: Dialect::Messages,
    },
    KnownProvider {
        name: "google",
        endpoint: "https://generativelanguage.googleapis.com/v1beta",
        key_env: Some("GEMINI_API_KEY"),
        keys: &[
            KeyVariable {
                name: "GOOGLE_API_KEY",
                header: None,
            },
            KeyVariable {
                name: "GEMINI_API_KEY",
                header: None,
            },
        ],
        endpoint_env: Some("GOOGLE_GEMINI_BASE_URL"),
        endpoint_suffix: Some("/v1beta"),
        dialect: Dialect::Gemini,
    },
    KnownProvider {
        name: "openrouter",
        endpoint: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "mistral",
        endpoint: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "deepseek",
        endpoint: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "xai",
        endpoint: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "groq",
        endpoint: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        keys: &[],
        endpoint_env: Some("GROQ_BASE_URL"),
        endpoint_suffix: Some("/openai/v1"),
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "lmstudio",
        endpoint: "http://127.0.0.1:1234/v1",
        key_env: None,
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "ollama",
        endpoint: "http://127.0.0.1:11434/v1",
        key_env: None,
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "vllm",
        endpoint: "http://127.0.0.1:8000/v1",
        key_env: None,
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
    KnownProvider {
        name: "llamacpp",
        endpoint: "http://127.0.0.1:8080/v1",
        key_env: None,
        keys: &[],
        endpoint_env: None,
        endpoint_suffix: None,
        dialect: Dialect::Chat,
    },
];

/// The provider that everybody knows by this name.
pub fn by_name(name: &str) -> Option<&'static KnownProvider> {
    KNOWN_PROVIDERS.iter().find(|known| known.name == name)
}

pub fn no_provider(model: &str) -> ProviderError {
    let known = KNOWN_PROVIDERS.iter().map(|known| known.name);
    let known: Vec<&str> = known.chain(["azure"]).collect();
    let meant = model.split_once('/').map(|(provider, _)| provider);
    let meant = meant.and_then(|provider| nearest(provider, known.iter().copied()));
    ProviderError::NoProvider {
        model: model.to_owned(),
        known: known.join(", "),
        meant: did_you_mean(meant),
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
        "{model:?} names no provider; write PROVIDER/MODEL with one of {known}, script:FILE, or give a base URL{meant}"
    )]
    NoProvider {
        model: String,
        known: String,
        /// The provider that was probably meant, as a question.
        meant: String,
    },
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

impl KnownProvider {
    /// The variable that its key is in: the first that is set, as its own client has it, else the usual one.
    pub fn key(&self, env: impl Fn(&str) -> Option<String>) -> Option<KeyVariable> {
        let default = self.key_env.map(|name| KeyVariable { name, header: None });
        first_set(self.keys, env).or(default)
    }

    /// Where it is: where a variable says, in the form that its own client takes, else where everybody knows.
    pub fn endpoint_by(&self, env: impl Fn(&str) -> Option<String>) -> String {
        let named = self.endpoint_env.and_then(env);
        // Empty means unset.
        let Some(named) = named.filter(|url| !url.trim().is_empty()) else {
            return self.endpoint.to_owned();
        };
        let bare = named.trim().trim_end_matches('/');
        match self.endpoint_suffix {
            Some(suffix) if !is_versioned(bare) => format!("{bare}{suffix}"),
            _ => bare.to_owned(),
        }
    }
}

fn first_set(keys: &[KeyVariable], env: impl Fn(&str) -> Option<String>) -> Option<KeyVariable> {
    let is_set = |key: &&KeyVariable| env(key.name).is_some_and(|value| !value.trim().is_empty());
    keys.iter().find(is_set).copied()
}

/// Whether the last part of an address is the version of an API, or what follows is no part of its path.
fn is_versioned(url: &str) -> bool {
    let last = url.rsplit('/').next().unwrap_or_default();
    let number = last.strip_prefix('v').unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit()) || url.contains(['?', '#'])
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

/// The variables that hold the token or the key of a resource at Azure, as OpenAI's own clients name and order them.
const AZURE_KEYS: &[KeyVariable] = &[
    KeyVariable {
        name: "AZURE_OPENAI_AD_TOKEN",
        header: Some(TOKEN_HEADER),
    },
    AZURE_KEY,
];

const AZURE_KEY: KeyVariable = KeyVariable {
    name: "AZURE_OPENAI_API_KEY",
    header: Some(AZURE_KEY_HEADER),
};

/// The header that Azure wants a key in.
pub const AZURE_KEY_HEADER: &str = "api-key";

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
    let key = match &asked.key_env {
        Some(_) => AZURE_KEY,
        None => azure_key(&env),
    };
    let endpoint = azure_at(None, None, deployment, env)?;
    let key_env = asked.key_env.clone().or(Some(key.name.to_owned()));
    Ok(Target {
        key_header: key.header.map(str::to_owned),
        ..target(asked, "azure", endpoint, deployment, key_env)
    })
}

/// The variable that holds the key of a resource at Azure.
pub(crate) fn azure_key(env: impl Fn(&str) -> Option<String>) -> KeyVariable {
    first_set(AZURE_KEYS, env).unwrap_or(AZURE_KEY)
}

/// Where a deployment is; what nobody says, the variables may.
pub(crate) fn azure_at(
    resource: Option<String>,
    version: Option<String>,
    deployment: &str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<String, ProviderError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let resource = resource.or_else(|| set("AZURE_OPENAI_ENDPOINT"));
    let resource = resource.ok_or(ProviderError::NoAzureEndpoint)?;
    let version = version.or_else(|| set("OPENAI_API_VERSION"));
    checked_url(&azure_endpoint(&resource, version.as_deref(), deployment))
}

/// Where a deployment is: with a version of the API as every client knows it, else under the address that needs none.
/// An address that names more than the resource is taken as it is.
pub fn azure_endpoint(url: &str, version: Option<&str>, deployment: &str) -> String {
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
mod tests {
    use super::*;

    fn resolved(model: &str, variables: &[(&str, &str)]) -> Target {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let asked = TargetRequest {
            model: model.into(),
            ..TargetRequest::default()
        };
        resolve_target(&asked, env).expect("a target")
    }

    #[test]
    fn a_provider_with_a_typo_is_answered_with_the_one_that_was_meant() {
        for (model, meant) in [
            ("opnai/gpt-5", Some("openai")),
            ("azur/d", Some("azure")),
            ("qwertyuiop/m", None),
            ("gpt-5", None),
        ] {
            let message = no_provider(model).to_string();
            let expected = meant.map(|name| format!("did you mean {name}?"));
            let asked = message
                .split_once("; did")
                .map(|(_, rest)| format!("did{rest}"));
            assert_eq!(asked, expected, "{message}");
        }
    }

    /// As google-genai 3.1.0, anthropic 2.8.0 and openai 3.49.0 choose.
    #[test]
    fn of_two_keys_that_one_counts_that_counts_for_the_providers_own_client() {
        let (google, gemini) = (("GOOGLE_API_KEY", "k"), ("GEMINI_API_KEY", "k"));
        let (key, token) = (("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t"));
        let azure = ("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com");
        let (azure_key, azure_token) = (
            ("AZURE_OPENAI_API_KEY", "k"),
            ("AZURE_OPENAI_AD_TOKEN", "t"),
        );
        let empty = ("GOOGLE_API_KEY", "");
        for (model, variables, key_env, header, warns) in [
            ("google/g", &[][..], gemini.0, None, false),
            ("google/g", &[gemini], gemini.0, None, false),
            ("google/g", &[google], google.0, None, false),
            ("google/g", &[gemini, google], google.0, None, true),
            ("google/g", &[gemini, empty], gemini.0, None, false),
            ("anthropic/c", &[], key.0, None, false),
            (
                "anthropic/c",
                &[token],
                token.0,
                Some("authorization"),
                false,
            ),
            ("anthropic/c", &[token, key], key.0, None, true),
            ("azure/d", &[azure], azure_key.0, Some("api-key"), false),
            (
                "azure/d",
                &[azure, azure_key],
                azure_key.0,
                Some("api-key"),
                false,
            ),
            (
                "azure/d",
                &[azure, azure_key, azure_token],
                azure_token.0,
                Some("authorization"),
                true,
            ),
            ("mistral/m", &[], "MISTRAL_API_KEY", None, false),
            ("openrouter/o", &[], "OPENROUTER_API_KEY", None, false),
        ] {
            let target = resolved(model, variables);
            assert_eq!(
                target.key_env.as_deref(),
                Some(key_env),
                "{model} {variables:?}"
            );
            assert_eq!(
                target.key_header.as_deref(),
                header,
                "{model} {variables:?}"
            );
            let env = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let warning = shadowed_key(&target, env);
            assert_eq!(
                warning.is_some(),
                warns,
                "{model} {variables:?}: {warning:?}"
            );
        }
    }

    #[test]
    fn a_key_that_a_person_names_is_shown_as_keys_are() {
        let azure = ("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com");
        for (model, token, header) in [
            ("anthropic/c", "ANTHROPIC_AUTH_TOKEN", None),
            ("azure/d", "AZURE_OPENAI_AD_TOKEN", Some("api-key")),
        ] {
            let mut target = resolved(model, &[azure, (token, "t")]);
            assert_eq!(target.key_header.as_deref(), Some("authorization"));
            take_key_from(&mut target, "MINE");
            assert_eq!(target.key_env.as_deref(), Some("MINE"));
            assert_eq!(target.key_header.as_deref(), header);
        }
    }

    #[test]
    fn an_address_in_a_variable_has_the_form_of_the_providers_own_client() {
        for (model, variable, url, endpoint) in [
            ("openai/m", "OPENAI_BASE_URL", "http://h/v1/", "http://h/v1"),
            ("anthropic/m", "ANTHROPIC_BASE_URL", "http://h", "http://h"),
            (
                "google/m",
                "GOOGLE_GEMINI_BASE_URL",
                "http://h",
                "http://h/v1beta",
            ),
            (
                "google/m",
                "GOOGLE_GEMINI_BASE_URL",
                "http://h/x/",
                "http://h/x/v1beta",
            ),
            (
                "google/m",
                "GOOGLE_GEMINI_BASE_URL",
                "http://h/v1",
                "http://h/v1",
            ),
            ("groq/m", "GROQ_BASE_URL", "http://h", "http://h/openai/v1"),
            (
                "groq/m",
                "GROQ_BASE_URL",
                "http://h/openai/v1",
                "http://h/openai/v1",
            ),
            (
                "google/m",
                "GOOGLE_GEMINI_BASE_URL",
                " ",
                "https://generativelanguage.googleapis.com/v1beta",
            ),
        ] {
            assert_eq!(
                resolved(model, &[(variable, url)]).endpoint,
                endpoint,
                "{url}"
            );
        }
    }

    #[test]
    fn the_account_is_named_where_the_key_of_openai_goes_and_nowhere_else() {
        let set = ["OPENAI_ORG_ID", "OPENAI_API_KEY"];
        let env = |name: &str| set.contains(&name).then(|| "org-1".to_owned());
        let named = [("OpenAI-Organization".to_owned(), "org-1".to_owned())];
        assert_eq!(account_headers(&resolved("openai/m", &[]), env), named);
        for model in ["mistral/m", "anthropic/m", "lmstudio/m"] {
            assert_eq!(account_headers(&resolved(model, &[]), env), []);
        }
        let without_key = |name: &str| env(name).filter(|_| name != "OPENAI_API_KEY");
        assert_eq!(account_headers(&resolved("openai/m", &[]), without_key), []);
        let mut own_key = resolved("openai/m", &[]);
        take_key_from(&mut own_key, "MINE");
        assert_eq!(account_headers(&own_key, env), []);
    }

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
