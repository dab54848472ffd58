//! The providers that everybody knows: where they are, and which variables hold their keys.
//!
//! The table follows the services' own clients. A row is enough for a model to be named by `NAME/MODEL`.

use bonded_kernel::Dialect;

/// A variable that holds a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyVariable {
    /// As the service's own client calls it.
    pub name: &'static str,
    /// The header that this key is shown in, where it is not the dialect's own.
    pub header: Option<&'static str>,
}

/// The header that tokens are shown in.
pub(super) const TOKEN_HEADER: &str = "authorization";

/// A provider that needs no more than its name.
#[derive(Clone, Copy, Debug)]
pub struct KnownProvider {
    /// What stands before the slash in a model's name.
    pub name: &'static str,
    /// Where everybody knows it to be, without a slash at the end.
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

/// Azure is not among them: its address is that of a resource, which its owner alone knows.
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

/// A variable of nothing but spaces is not set.
pub(super) fn first_set(
    keys: &[KeyVariable],
    env: impl Fn(&str) -> Option<String>,
) -> Option<KeyVariable> {
    let is_set = |key: &&KeyVariable| env(key.name).is_some_and(|value| !value.trim().is_empty());
    keys.iter().find(is_set).copied()
}

/// Whether the last part of an address is the version of an API, or what follows is no part of its path.
fn is_versioned(url: &str) -> bool {
    let last = url.rsplit('/').next().unwrap_or_default();
    let number = last.strip_prefix('v').unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit()) || url.contains(['?', '#'])
}
