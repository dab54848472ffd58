//! The host of `bonded`: the one loop that drives runs, and what stands around it.
//!
//! The host performs effects and makes steps durable. It decides nothing: no rule of the contract lives
//! here. It does not print, does not exit, and knows neither the command line nor any server.
//!
//! `host` and `driving` begin runs, `driver` performs their effects, `agent` and `config` make goals of
//! what people wrote, `trust` decides which files count, and `accounting`, `keeping` and `shapes` tell
//! what came of it.

pub mod accounting;
pub mod agent;
mod agent_error;
pub mod agent_file;
mod beneath;
mod builtin;
pub mod changes;
mod children;
mod client_results;
mod clock;
pub mod config;
mod confinement;
pub mod copying;
mod counter;
pub mod document;
mod driver;
mod driving;
mod error;
mod host;
pub mod images;
pub mod instructions;
pub mod keeping;
pub mod letters;
pub mod line_diff;
mod live;
mod live_file;
mod load;
mod long_work;
mod many;
pub mod memory_file;
pub mod offers;
pub mod planning;
pub mod prices;
mod private;
pub mod provider;
mod queueing;
mod refuse;
pub mod regular;
mod result;
mod review;
mod secrets;
pub mod shapes;
mod skill_choice;
pub mod skills;
pub mod trust;
mod watch;
pub mod windows;
pub mod witness;
mod workdir_tools;
mod workplace;
pub mod yaml;

pub use beneath::SecretFiles;
pub use bonded_tools::{QueueMeasure, sandbox, sandbox_trial};
pub use children::WorkplaceChildren;
pub use client_results::{ClientResults, waits_for_client};
pub use clock::{Clock, SystemClock};
pub use config::policy::policy;
pub use confinement::Confinement;
pub use driver::panic_message;
pub use error::{HostError, with_causes};
pub use host::{Children, Goal, Host, Toolset};
pub use live::{CallNews, LiveCall, LivePiece, LiveSink, LiveWait, LiveWriting};
pub use live_file::{LiveText, LiveWatch};
pub use load::load_run;
pub use long_work::off_the_runtime;
pub use many::{Many, many};
pub use provider::{
    KNOWN_PROVIDERS, KeyVariable, KnownProvider, ProviderError, SCRIPT, TargetRequest,
    resolve_target, shadowed_key, take_key_from,
};
pub use queueing::Queueing;
pub use refuse::refuse;
pub use result::{RunResult, Status};
pub use review::{PendingReview, Reviewed};
pub use secrets::Secrets;
pub use tokio_util::sync::CancellationToken;
pub use watch::{Watch, WatchedRun};
pub use workdir_tools::WorkdirTools;
