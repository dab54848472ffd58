//! The sections of `config.json` with the values that hold where nothing is written.
//!
//! By default the server listens on the machine itself, and asks no service elsewhere. A field that is added here is
//! known to the check at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use bonded_host::provider;

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceConfig {
    /// What is logged, and how.
    pub logging: LoggingSection,
    /// Where requests come in, and their bounds.
    pub server: ServerSection,
    /// Sockets that follow a workspace.
    pub websocket: WebsocketSection,
    /// Finding notes, by words and by meaning.
    pub search: SearchSection,
    /// The model of rules, and what rules may reach.
    pub automation: AutomationSection,
    /// What rules of the agent may leave open.
    pub agent: AgentSection,
    /// Cookies and what guards them.
    pub security: SecuritySection,
}

/// What the server writes to its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggingSection {
    /// The least that is logged: error, warn, info, debug or trace.
    pub default_level: String,
    /// One JSON object a line, in place of text.
    pub json: bool,
    /// Whether each request is logged.
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

/// Where the server listens, and how much it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSection {
    /// An address and a port.
    pub bind_addr: String,
    /// In milliseconds, for a whole request: the arrival of its body and its answer.
    pub request_timeout_ms: u64,
    /// In mebibytes.
    pub max_request_body_mb: u32,
    /// In mebibytes: the largest file that can be attached to a note.
    pub max_attachment_mb: u32,
    /// Of one caller.
    pub writes_per_second_max: u32,
    /// Whose pages may ask beside the server's own.
    pub cors_allowed_origins: Vec<String>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            bind_addr: "127.0.0.1:8130".into(),
            request_timeout_ms: 15_000,
            max_request_body_mb: 16,
            max_attachment_mb: 25,
            writes_per_second_max: 500,
            cors_allowed_origins: vec![],
        }
    }
}

/// How sockets are kept alive, and how much is replayed at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebsocketSection {
    /// In milliseconds between two signs of life that the server sends.
    pub heartbeat_interval_ms: u64,
    /// A socket that is silent for longer is closed.
    pub client_timeout_ms: u64,
    /// So many events are read at once for whoever begins behind the end of a stream.
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

/// How notes are searched, and who is asked what they mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSection {
    /// `hybrid`, `lexical` or `semantic`, for searches that do not say.
    pub default_mode: String,
    /// Whether notes are found by meaning at all.
    pub semantic_enabled: bool,
    /// A kind that has embeddings, or `null` for none.
    pub embedding_provider: String,
    /// Empty is the place where a provider of this kind is found by default.
    pub embedding_base_url: String,
    /// As the provider calls it. Vectors of another model are made anew.
    pub embedding_model: String,
    /// How many numbers a vector of the model has.
    pub vector_dimensions: u32,
    /// How many notes are shown to the model at once.
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

/// Which model rules ask, how many of their runs there are at once, and what they may reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutomationSection {
    /// One of the known kinds of providers.
    pub default_provider_kind: String,
    /// Empty is the place where a provider of this kind is found by default.
    pub base_url: String,
    /// As the provider calls it; never empty.
    pub model: String,
    /// In milliseconds, for one request to the model.
    pub timeout_ms: u64,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
    /// From 0 to 2.
    pub temperature: f64,
    /// Asked in this order when the model fails; at most three of them in a turn.
    pub fallback_models: Vec<String>,
    /// How many runs of rules are driven at once.
    pub concurrent_runs: u32,
    /// Where rules of a workspace may find agent files, plans and trees: by its id, or `*` for all.
    pub allowed_dirs: BTreeMap<String, Vec<String>>,
    /// Whom rules may ask beside the provider above: `KIND`, or `KIND=URL`.
    pub allowed_providers: Vec<String>,
    /// Where rules may send messages: addresses, each with all paths below it.
    pub allowed_webhooks: Vec<String>,
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
            allowed_webhooks: vec![],
        }
    }
}

impl AutomationSection {
    /// Where the provider is. Another kind is never looked for at the place of the default one, which would be shown its key.
    pub fn endpoint(&self) -> &str {
        let default = provider::by_name(&self.default_provider_kind).map(|known| known.endpoint);
        match self.base_url.as_str() {
            "" => default.unwrap_or_default(),
            url => url,
        }
    }
}

/// What holds for the agent where a rule says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSection {
    /// Always `kjxlkj-agent`.
    pub name: String,
    /// `yolo` or `reviewed`; null leaves it to the prompt file.
    pub mode: Option<String>,
    /// The prompt of rules that name none; `./data/` stands for the data directory.
    pub prompt_path: String,
    /// The memory of rules that name none.
    pub memory_store_path: String,
    /// Whether the text of replies is kept in the log, beside what was done.
    pub retain_full_conversation_logs: bool,
    /// In milliseconds, after a loop in which the agent had something to do.
    pub loop_delay_ms: u64,
    /// In milliseconds, after a loop that left it idle.
    pub idle_delay_ms: u64,
    /// The most loops of one run.
    pub max_iterations: u32,
    /// Whether anything but well-formed instructions fails a reply as a whole.
    pub strict_mode: bool,
    /// The memory, in bytes, at which the agent is told to put parts of it away.
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

/// Cookies, and what shows that a page of ours sent a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecuritySection {
    /// Set where the server is reached over TLS only: browsers then send the cookie nowhere else.
    pub secure_cookies: bool,
    /// `lax` or `strict`.
    pub same_site: String,
    /// The header in which a page shows that it has read its cookie.
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
        "it is for an editor, which is another program, and is ignored",
    ),
    ("database", "the store is a file in the data directory"),
    (
        "storage",
        "attachments lie in the data directory; server.max_attachment_mb limits them",
    ),
    ("features", "it cannot be switched on or off"),
    ("health", "the paths are /healthz and /readyz"),
    ("server.static_dir", "the pages are part of the program"),
    ("metrics", "it cannot be switched on or off"),
];
