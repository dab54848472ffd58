//! What somebody wants to change, as the store takes it, and what came of it.
//!
//! The store takes nothing else: ids, times and who asks come with it.

use bonded_kernel::{Millis, UserId};
use bonded_workspace_rules::{
    Actor, AutomationRun, Chain, Change, Note, Operation, Role, StoredEvent, Workspace,
};
use serde::{Deserialize, Serialize};

use super::rows::StoredRule;

/// Somebody's wish to change something.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Proved by the caller.
    pub actor: Actor,
    /// By the caller's clock; the store has none.
    pub at: Millis,
    /// Names the request that the write came with, for whoever reads the stream later.
    pub request_id: String,
    /// None for writes that are never asked for again.
    pub key: Option<IdempotencyKey>,
    /// Where the write stands in a chain of runs; the default for what a person does.
    pub chain: Chain,
    /// What is wanted.
    pub change: Change,
}

/// Names a write that may be asked for again and must be made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Whose key it is: the same key of somebody else is another.
    pub scope: String,
    /// Drawn by the client, or derived from the call of an agent.
    pub key: String,
}

/// What came of a write; it is synced.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedWrite {
    /// In the order of the stream; none where things stood so already.
    pub events: Vec<StoredEvent>,
    /// What the change was about, as it stands after it.
    pub outcome: WriteOutcome,
    /// The write was made earlier, and this is what came of it then.
    pub replayed: bool,
}

/// How things stand after a write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOutcome {
    /// Of all changes of notes.
    Note(Box<Note>),
    /// Of changes of the workspace itself.
    Workspace(Workspace),
    /// No role: the person is no member any more.
    Member { user_id: UserId, role: Option<Role> },
    /// Of changes of rules, deleted ones too.
    Rule(Box<StoredRule>),
    /// Of a firing or of a step of a run.
    Run(Box<AutomationRun>),
    /// Of what the engine fired at once.
    Runs(Vec<AutomationRun>),
    /// Of a proposal or of a decision about one.
    Operation(Box<Operation>),
    /// There is nothing to show.
    Done,
}
