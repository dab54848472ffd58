//! The sections of `config.json` with the values that hold where nothing is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use bonded_host::provider;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggingSection {
    pub default_level: String,
    pub json: bool,
    pub request_log: bool,
}

impl Default for LoggingSection {
    fn default() -> Self {
        Self {
            default_level: "info".into(),
            json: false,
            request_log: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSection {
    pub bind_addr: String,
    pub request_timeout_ms: u64,
    pub max_request_body_mb: u32,
    pub writes_per_second_max: u32,
    pub cors_allowed_origins: Vec<String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            bind_addr: "127.0.0.1:8130".into(),
            request_timeout_ms: 15_000,
            max_request_body_mb: 16,
            writes_per_second_max: 500,
            cors_allowed_origins: vec![],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebsocketSection {
    pub heartbeat_interval_ms: u64,
    pub client_timeout_ms: u64,
    pub replay_batch_size: u32,
}

impl Default for WebsocketSection {
    fn default() -> Self {
        Self {
            heartbeat_interval_ms: 10_000,
            client_timeout_ms: 30_000,
            replay_batch_size: 200,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSection {
    pub default_mode: String,
    pub semantic_enabled: bool,
    pub embedding_provider: String,
    /// Empty is the place where a provider of this kind is usually found.
    pub embedding_base_url: String,
    pub embedding_model: String,
    pub vector_dimensions: u32,
    pub reindex_batch_size: u32,
}

impl Default for SearchSection {
    fn default() -> Self {
        Self {
            default_mode: "hybrid".into(),
            semantic_enabled: false,
            embedding_provider: "lmstudio".into(),
            embedding_base_url: String::new(),
            embedding_model: "nomic-embed-text-v1.5".into(),
            vector_dimensions: 768,
            reindex_batch_size: 200,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomationSection {
    pub default_provider_kind: String,
    /// Empty is the place where a provider of this kind is usually found.
    pub base_url: String,
    pub model: String,
    pub timeout_ms: u64,
    pub max_tokens: u32,
    pub temperature: f64,
    /// Asked in this order when the model fails; at most three of them in a turn.
    pub fallback_models: Vec<String>,
    /// How many runs of rules are driven at once.
    pub concurrent_runs: u32,
    /// Where rules of a workspace may find agent files, plans and trees: by its id, or `*` for all.
    pub allowed_dirs: BTreeMap<String, Vec<String>>,
    /// Whom rules may ask beside the provider above: `KIND`, or `KIND=URL`.
    pub allowed_providers: Vec<String>,
}

impl Default for AutomationSection {
    fn default() -> Self {
        Self {
            default_provider_kind: "lmstudio".into(),
            base_url: String::new(),
            model: "nvidia/nemotron-3-nano".into(),
            timeout_ms: 300_000,
            max_tokens: 4096,
            temperature: 0.1,
            fallback_models: vec![],
            concurrent_runs: 4,
            allowed_dirs: BTreeMap::new(),
            allowed_providers: vec![],
        }
    }
}

impl AutomationSection {
    /// Where the provider is. Another kind is never looked for at the place of the usual one, which would be shown its key.
    pub fn endpoint(&self) -> &str {
        let usual = provider::by_name(&self.default_provider_kind).map(|known| known.endpoint);
        match self.base_url.as_str() {
            "" => usual.unwrap_or_default(),
            url => url,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSection {
    pub name: String,
    /// `yolo` or `reviewed`; null leaves it to the prompt file.
    pub mode: Option<String>,
    pub prompt_path: String,
    pub memory_store_path: String,
    pub retain_full_conversation_logs: bool,
    pub loop_delay_ms: u64,
    pub idle_delay_ms: u64,
    pub max_iterations: u32,
    pub strict_mode: bool,
    pub paging_bytes: u64,
}

impl Default for AgentSection {
    fn default() -> Self {
        Self {
            name: "kjxlkj-agent".into(),
            mode: None,
            prompt_path: "./data/agent-prompt.json".into(),
            memory_store_path: "./data/agent-kv-store.json".into(),
            retain_full_conversation_logs: false,
            loop_delay_ms: 1500,
            idle_delay_ms: 5000,
            max_iterations: 100,
            strict_mode: false,
            paging_bytes: 8192,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecuritySection {
    pub secure_cookies: bool,
    pub same_site: String,
    pub csrf_header: String,
}

impl Default for SecuritySection {
    fn default() -> Self {
        Self {
            secure_cookies: false,
            same_site: "lax".into(),
            csrf_header: "X-CSRF-Token".into(),
        }
    }
}

/// Sections and keys that programs of this kind have and that mean nothing here, and why.
pub(super) const WITHOUT_EFFECT: [(&str, &str); 7] = [
    (
        "editor",
        "it is for an editor, which is another program, and is left as it is",
    ),
    ("database", "the store is a file in the data directory"),
    ("storage", "there are no attachments"),
    ("features", "there is nothing to switch"),
    ("health", "the paths are /healthz and /readyz"),
    ("server.static_dir", "the pages are part of the program"),
    ("metrics", "there is nothing to switch"),
];
