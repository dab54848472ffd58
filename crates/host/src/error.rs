//! What can go wrong around a run. What goes wrong inside one is an event.

use bonded_kernel::{BadCatalog, BadLog, NotDurable, RunId};
use bonded_state::StoreError;
use bonded_tools::sandbox::SandboxError;

use crate::agent_error::AgentError;

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the log of run {run} cannot be used: {source}")]
    BadLog { run: RunId, source: BadLog },
    #[error("run {run} was taken over by another process")]
    TakenOver { run: RunId },
    #[error("run {run} exists already with another goal; choose another id")]
    OtherGoal { run: RunId },
    #[error("run {run} exists already; choose another id")]
    IdTaken { run: RunId },
    #[error("run {run} has no turn {turn}; it has {turns}")]
    NoSuchTurn { run: RunId, turn: u32, turns: u32 },
    #[error(
        "run {run} is for an item of plan {plan}, and goes on with it: bonded work --resume {plan}"
    )]
    OfPlan { run: RunId, plan: String },
    #[error("run {run} is not gone on with: {why}; restore the store from a backup")]
    Cut { run: RunId, why: String },
    #[error("run {run} was interrupted: bonded resume {run}")]
    Interrupted { run: RunId },
    #[error("the working directory {dir} cannot be used: {why}")]
    Workdir { dir: String, why: String },
    #[error("the tools cannot be offered: {source}")]
    Catalog { source: BadCatalog },
    #[error(transparent)]
    Sandbox { source: SandboxError },
    #[error(transparent)]
    Agent(Box<AgentError>),
    #[error("an effect was about to be performed before its step was durable: {source}")]
    NotDurable { source: NotDurable },
    #[error("run {run} could not be recorded as ended after a panic: {message}")]
    Panicked { run: RunId, message: String },
}

/// The whole chain of causes, each once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let message = source.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = source.source();
    }
    text
}
