//! What can go wrong around a run. What goes wrong inside one is an event.
//!
//! A run that has begun tells of its failures in its log. These are the ones that leave no entry, or
//! that keep a run from being driven here and now.

use bonded_kernel::{BadCatalog, BadLog, GoalRefused, NotDurable, RunId};
use bonded_state::StoreError;
use bonded_tools::sandbox::SandboxError;

use crate::agent_error::AgentError;
use crate::images::ImageError;

/// Why a run could not be begun, loaded or driven on.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The store failed; what was committed before is safe.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The entries do not follow from each other: damaged, or of another program.
    #[error("the log of run {run} cannot be used: {source}")]
    BadLog { run: RunId, source: BadLog },
    /// Another process writes to the log; this one has let go.
    #[error("run {run} was taken over by another process")]
    TakenOver { run: RunId },
    /// The id names a run that was asked something else.
    #[error("run {run} already exists with another goal; choose another id")]
    OtherGoal { run: RunId },
    /// A run that another process shall drive was asked what a log does not keep.
    #[error(
        "the goal or the system prompt of run {run} holds a secret, which no log keeps: another process could not ask it"
    )]
    SecretGoal { run: RunId },
    /// Runs were to wait for a worker in a store that has no queues.
    #[error(
        "a store in a file has no queues; name a store on a server: --store postgres://USER@HOST/DATABASE"
    )]
    NoQueues,
    /// A new run was to have the id of one that exists.
    #[error("run {run} already exists; choose another id")]
    IdTaken { run: RunId },
    /// A fork was asked for at a turn that the run does not have.
    #[error("run {run} has no turn {turn}; it has {turns}")]
    NoSuchTurn { run: RunId, turn: u32, turns: u32 },
    /// A run was to be given another goal that takes none.
    #[error("run {run} takes no other goal: {why}")]
    TakesNoGoal { run: RunId, why: GoalRefused },
    /// The run works on an item of a plan, and is gone on with by that plan alone.
    #[error("run {run} belongs to plan {plan}; resume the plan: bonded work --resume {plan}")]
    OfPlan { run: RunId, plan: String },
    /// What was kept outside the store knows more of the run than its log: to go on would do things
    /// again.
    #[error("run {run} cannot be resumed: {why}; restore the store from a backup")]
    Cut { run: RunId, why: String },
    /// The process is about to end. Nothing is lost, and the run can be resumed.
    #[error("run {run} was interrupted; resume it: bonded resume {run}")]
    Interrupted { run: RunId },
    /// The working directory is missing or cannot be opened.
    #[error("the working directory {dir} cannot be used: {why}")]
    Workdir { dir: String, why: String },
    /// Two tools have one name, or the name or the schema of one cannot be used.
    #[error("the tools cannot be offered: {source}")]
    Catalog { source: BadCatalog },
    /// The sandbox that is demanded cannot be built on this machine.
    #[error(transparent)]
    Sandbox { source: SandboxError },
    /// The agent cannot be run, or its tools could not be opened. Boxed, because it is large.
    #[error(transparent)]
    Agent(Box<AgentError>),
    /// The images of the goal cannot be shown to its models.
    #[error(transparent)]
    Images(#[from] ImageError),
    /// A mistake in this program, caught before it did harm.
    #[error("an effect was about to be performed before its step was durable: {source}")]
    NotDurable { source: NotDurable },
    /// A panic, and the log could not be told of it; the run can be resumed.
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
