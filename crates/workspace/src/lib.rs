//! The workspace at work: when rules fire, and what becomes of it.
//!
//! # The way of a note
//!
//! A note that somebody writes goes one way, whoever it is. A person comes in by a route of the server
//! (`note_writes.rs` of `bonded-serve`), an agent by its tools ([`records`]); both end in a
//! [`Change`](bonded_workspace_rules::Change) and a [`Write`](store::Write) around it, which says who, when and under
//! which key.
//!
//! 1. `WorkspaceStore::write_by` looks whether what the person showed is still good, and `WorkspaceStore::write` does
//!    not: agents and the engine show nothing. From here on there is one way.
//! 2. `StoreWriter::commit` takes all that waits as a group, and `Transaction::write` each write of it. A key that is
//!    known gives the answer of before.
//! 3. Decided: `Transaction::make_one` loads what the decision depends on (`views::load`) and asks
//!    [`decide`](bonded_workspace_rules::decide), which gives events or a refusal.
//! 4. Stored: `Transaction::append` keeps a long text apart (`blobs::keep`), makes the note's row
//!    (`Projection::prepare`), and appends the event.
//! 5. Indexed: `Projection::project` brings the tables to where they stand after the event: `project_note` for its row,
//!    its links and its place among the words. The words themselves go in when the group ends (`Transaction::finish`),
//!    and what a note means is asked later by the [`Indexer`], which finds it in the list of notes that a model wants.
//! 6. Notified: after the sync `StoreWriter::commit` publishes how far the streams go, then answers. Whoever waits wakes
//!    by that: the sockets of the server (`WorkspaceStore::changed`), the engine's matcher and the indexer
//!    (`WorkspaceStore::changed_any`). They read the events anew, so that nothing depends on who was awake.

mod actions;
mod active;
mod agent_runs;
pub mod attachments;
pub mod config;
mod cron;
mod embedding_providers;
mod embeddings;
mod engine;
mod engine_lead;
mod engine_state;
mod firing;
pub mod front_matter;
mod hook_secret;
mod indexer;
pub mod keeper;
pub mod loop_history;
mod loop_runs;
mod matcher;
mod note_files;
mod operator;
mod plain_actions;
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
mod webhook_address;
mod webhooks;
mod work_process;

pub use actions::Actions;
pub use agent_runs::{AgentRuns, performed};
pub use cron::{BadCron, Cron, FiringTime};
pub use embeddings::{BadEmbedder, Embedder, QUERY_TIMEOUT_MS};
pub use engine::Engine;
pub use engine_state::EngineSettings;
pub use firing::{Firing, Performed, Performs};
pub use hook_secret::{
    HookSecret, ID_HEADER, REPLAY_WINDOW_SECONDS, SIGNATURE_HEADER, TIMESTAMP_HEADER,
};
pub use indexer::Indexer;
pub use note_files::{LeftOut, NoteDir, NoteFiles};
pub use operator::OperatorSink;
pub use plain_actions::PlainActions;
pub use prompts::PromptError;
pub use provider_health::{ProviderHealth, ProviderLook, ProviderState};
pub use search::{ScoredHit, SearchError, SearchMode, SearchResults, UnknownMode, search};
pub use wall_clock::WallClock;
pub use webhooks::{WEBHOOK_TIMEOUT, Webhooks};
pub use work_process::{WorkProcess, plan_of_run};
