//! The workspace at work: when rules fire, and what becomes of it.

mod active;
mod agent_runs;
pub mod config;
mod cron;
mod embeddings;
mod engine;
mod firing;
pub mod front_matter;
mod indexer;
pub mod keeper;
mod loop_runs;
mod matcher;
mod note_files;
mod prompts;
mod provider_health;
pub mod records;
mod runner;
mod scheduler;
mod search;
pub mod store;
mod target;
pub mod times;
mod wall_clock;
mod work_process;

pub use agent_runs::{AgentRuns, performed};
pub use cron::{BadCron, Cron};
pub use embeddings::{BadEmbedder, Embedder, QUERY_TIMEOUT_MS};
pub use engine::{Engine, EngineSettings};
pub use firing::{Actions, Firing, Performed, Performs};
pub use indexer::{Indexer, Tell};
pub use note_files::{LeftOut, NoteDir, NoteFiles};
pub use prompts::PromptError;
pub use provider_health::{ProviderHealth, ProviderLook, ProviderState};
pub use search::{ScoredHit, SearchError, SearchMode, Searched, UnknownMode, search};
pub use wall_clock::WallClock;
pub use work_process::WorkProcess;
