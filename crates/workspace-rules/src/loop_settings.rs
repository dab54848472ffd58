//! What an action that works in loops can leave open: its model, its memory and its pace.
//!
//! The same types serve the action as it is read and the defaults of the host, so that no field can be given a default
//! in one place and forgotten in the other.

use bonded_kernel::Mode;
use serde::Serialize;

/// Which model is asked, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderChoice {
    /// One of the kinds that the host knows, such as `lmstudio`.
    pub provider_kind: String,
    /// `None` is where a provider of this kind is found by default.
    pub base_url: Option<String>,
    /// As the provider calls it; not checked here.
    pub model: String,
    /// How long one request may take.
    pub timeout_ms: u64,
    /// How long a reply may be.
    pub max_tokens: u32,
    /// From 0 to 2.
    pub temperature: f64,
}

/// Where the memory lies, and whether replies are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryChoice {
    /// The name of the memory, as a rule writes it.
    pub kv_store_path: String,
    /// Whether the text of replies is kept in the log, beside what was done.
    pub retain_full_conversation_logs: bool,
}

/// How long the agent waits between loops, and how many there are at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pace {
    /// After a loop in which the agent had something to do.
    pub loop_delay_ms: u64,
    /// After one that left it idle.
    pub idle_delay_ms: u64,
    /// More loops than this end the run.
    pub max_iterations: u32,
}

/// What holds where an action says nothing. A host may have its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopDefaults {
    /// The prompt file, as the configuration names it.
    pub prompt_path: String,
    /// The one provider that rules may ask without its being listed.
    pub provider: ProviderChoice,
    /// `None` leaves it to the prompt file.
    pub mode: Option<Mode>,
    /// The memory of rules that name none.
    pub memory: MemoryChoice,
    /// Delays and the number of loops.
    pub pace: Pace,
    /// Whether anything but well-formed instructions fails a reply as a whole.
    pub strict_mode: bool,
    /// The memory, in bytes, at which the agent is told to put parts of it away.
    pub paging_bytes: u64,
}

impl Default for LoopDefaults {
    /// For a model on the same machine.
    fn default() -> Self {
        Self {
            prompt_path: "./data/agent-prompt.json".into(),
            provider: ProviderChoice {
                provider_kind: "lmstudio".into(),
                base_url: Some("http://127.0.0.1:1234/v1".into()),
                model: "nvidia/nemotron-3-nano".into(),
                timeout_ms: 300_000,
                max_tokens: 4096,
                temperature: 0.1,
            },
            mode: None,
            memory: MemoryChoice {
                kv_store_path: "./data/agent-kv-store.json".into(),
                retain_full_conversation_logs: false,
            },
            pace: Pace {
                loop_delay_ms: 1500,
                idle_delay_ms: 5000,
                max_iterations: 100,
            },
            strict_mode: false,
            paging_bytes: 8192,
        }
    }
}
