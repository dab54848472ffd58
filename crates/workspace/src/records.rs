//! Notes as the tools of a run that works in loops. Each run has its own: they remember which versions it has seen.
//!
//! An agent has no other way to the notes. What it may touch is decided here by its scope and in the store by `decide`;
//! a note can only be changed if the run has read its current version in an earlier loop. Every write has the key of
//! its call, so that a call which is made again after a crash is made once.

mod search;
mod seen;
mod spec;
mod write;

use std::sync::Arc;

use crate::store::{
    CommittedWrite, IdempotencyKey, WorkspaceError, WorkspaceStore, Write, WriteOutcome,
};
use bonded_kernel::{Invocation, LoopConfig, Mode, RunConfig, Scope, ToolSpec};
use bonded_state::Store;
use bonded_tools::{Registry, Tool, ToolFault, ToolValue};
use bonded_workspace_rules::{Actor, Chain, Code, Note, Refused};
use futures_util::future::BoxFuture;
use serde_json::Value;

use bonded_host::Clock;
use bonded_host::HostError;
use bonded_host::Toolset;
use seen::SeenNotes;
use spec::RecordOp;

/// The metadata that names the call which wrote a note last.
const AGENT_CALL: &str = "agent_call";

/// Opens the tools of runs that work in loops; those of other runs come from somebody else.
pub struct LoopTools {
    /// Where the notes are.
    pub store: Arc<WorkspaceStore>,
    /// Gives the time of each write.
    pub clock: Arc<dyn Clock>,
    /// The log of the runs, which says what they have read.
    pub log: Arc<dyn Store>,
    /// Opens the tools of runs that are no loops.
    pub others: Arc<dyn Toolset>,
}

impl std::fmt::Debug for LoopTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoopTools")
    }
}

impl Toolset for LoopTools {
    /// Runs that are no loops get the tools of the other set. What the kernel answers itself stands beside these four.
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        let Some(looping) = &config.looping else {
            return self.others.open(config);
        };
        let records = Arc::new(Records::new(self, looping));
        let tools = RecordOp::ALL.map(|op| {
            let records = records.clone();
            let spec = op.spec();
            Arc::new(RecordTool { records, op, spec }) as Arc<dyn Tool>
        });
        let opened = Registry::of_run(tools.into(), config)
            .map(Arc::new)
            .map_err(|source| HostError::Catalog { source });
        Box::pin(std::future::ready(opened))
    }
}

/// The notes of a workspace as one run may use them.
struct Records {
    store: Arc<WorkspaceStore>,
    clock: Arc<dyn Clock>,
    rule: bonded_kernel::RuleId,
    scope: Scope,
    mode: Mode,
    log: Arc<dyn Store>,
    seen: SeenNotes,
}

/// One of the four instructions, bound to the run.
struct RecordTool {
    records: Arc<Records>,
    op: RecordOp,
    spec: ToolSpec,
}

impl Tool for RecordTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The arguments fit the schema; what they mean in this workspace is checked by each operation.
    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            let records = &self.records;
            let output = match self.op {
                RecordOp::Add => records.add(&arguments, call).await?,
                RecordOp::Update => records.update(&arguments, call).await?,
                RecordOp::Issue => records.issue(&arguments, call).await?,
                RecordOp::Search => records.search(&arguments, call.turn()).await?,
            };
            Ok(output.into())
        })
    }
}

impl Records {
    /// The scope and the mode are those that the run began with.
    fn new(tools: &LoopTools, config: &LoopConfig) -> Self {
        Self {
            store: tools.store.clone(),
            clock: tools.clock.clone(),
            rule: config.rule_id,
            scope: config.scope.clone(),
            mode: config.mode,
            log: tools.log.clone(),
            seen: SeenNotes::default(),
        }
    }

    /// The version of a note that the run has read, which is what a change of it is made for.
    async fn read_version(&self, note: &Note, call: &Invocation) -> Result<u64, ToolFault> {
        if let Some(version) = self.seen.version(note.note_id, call.turn()) {
            return Ok(version);
        }
        // Another process may have shown it.
        let entries = self.log.load(call.run(), 0).await;
        self.seen.recall(&entries.unwrap_or_default());
        let version = self.seen.version(note.note_id, call.turn());
        version.ok_or_else(|| {
            let message = format!(
                "this run has not read note {}, so nothing was changed. Read it with record_search and its id, and \
                 change it in a later loop",
                note.note_id
            );
            ToolFault::new(Code::NoteNotRead.as_str(), message)
        })
    }

    /// Makes a write as the agent, under the key of its call.
    /// The chain is that of the run, so that rules which this write sets off are counted as following from it. A run
    /// that is not known writes at the beginning of a chain, and is refused by `decide`.
    async fn write(
        &self,
        call: &Invocation,
        change: bonded_workspace_rules::Change,
    ) -> Result<CommittedWrite, WorkspaceError> {
        let run = self.store.run(call.run().clone()).await?;
        let chain = run.map_or(Chain::default(), |run| Chain {
            depth: run.depth,
            cause: Some(run.triggering_event_id),
        });
        let write = Write {
            actor: Actor::Agent {
                run_id: call.run().clone(),
                rule_id: self.rule,
            },
            at: self.clock.now(),
            request_id: call.key(),
            key: Some(IdempotencyKey {
                scope: format!("run {}", call.run()),
                key: call.key(),
            }),
            chain,
            change,
        };
        self.store.write(write).await
    }
}

/// The note that a write left.
fn note_of(written: CommittedWrite) -> Option<Note> {
    match written.outcome {
        WriteOutcome::Note(note) => Some(*note),
        WriteOutcome::Workspace(_)
        | WriteOutcome::Member { .. }
        | WriteOutcome::Rule(_)
        | WriteOutcome::Run(_)
        | WriteOutcome::Runs(_)
        | WriteOutcome::Operation(_)
        | WriteOutcome::Done => None,
    }
}

/// What the model is told of a write that was not made.
fn fault(error: WorkspaceError) -> ToolFault {
    match error {
        WorkspaceError::Refused(Refused::VersionConflict {
            expected_version,
            current,
        }) => ToolFault::new(
            Code::VersionConflict.as_str(),
            format!(
                "note {} is at version {} now, you saw version {expected_version}; nothing was changed. Read it again with record_search and its id, then write what is to stand there",
                current.note_id, current.version
            ),
        ),
        WorkspaceError::Refused(refused) => {
            ToolFault::new(refused.code().as_str(), refused.to_string())
        }
        WorkspaceError::Store(error) => {
            ToolFault::new(Code::InternalError.as_str(), error.to_string())
        }
    }
}
