//! What runs of the agent did, loop by loop, what waits for a person over all runs, and what an agent remembers.

use bonded_host::memory_file::MemoryFile;
use bonded_state::StoreError;
use bonded_workspace::loop_history::loops_of;
use bonded_workspace_rules::{Action, Code, Permission};

use super::notes::{LIMIT, LIMIT_MAX, one_more, page, workspace_asked};
use super::{rules, runs};
use crate::json_api::answer::OkJson;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::{WorkspaceAsk, permit};
use crate::workspace::diff;
use crate::workspace::dto::{AgentMemory, Id, LoopAnswer, Loops, OperationQueue, QueuedOperation};

/// A run of another action has no loops.
pub(in crate::workspace) async fn loops(ask: WorkspaceAsk) -> Result<OkJson<Loops>, ApiRefusal> {
    let run = runs::found(&ask, Permission::ReadNotes).await?;
    let limit = ask.query.number("limit", LIMIT, 1..=LIMIT_MAX)? as usize;
    let after = ask.query.number("after", 0, 0..=u64::from(u32::MAX))?;
    let unreadable = |error: StoreError| {
        tracing::error!("error: {error}");
        ApiRefusal::internal("the log of the run cannot be read; the log of the server says why")
    };
    // A run that never began, or needed no agent, has no log.
    let log = &ask.site.log;
    let entries = match log.head(&run.run_id).await.map_err(unreadable)? {
        Some(_) => log.load(&run.run_id, 0).await.map_err(unreadable)?,
        None => vec![],
    };
    let records = loops_of(&entries)
        .map_err(|error| ApiRefusal::internal(format!("the log of the run is damaged: {error}")))?;
    let later: Vec<_> = records
        .iter()
        .filter(|it| u64::from(it.number) > after)
        .collect();
    let shown = &later[..later.len().min(limit)];
    let has_more = later.len() > shown.len();
    Ok(OkJson(Loops {
        run_id: run.run_id.to_string(),
        status: run.status.into(),
        loops: shown.iter().map(|it| LoopAnswer::from(*it)).collect(),
        next_after: shown.last().filter(|_| has_more).map(|it| it.number),
    }))
}

/// What waits for a person in a workspace, the oldest first, with the texts before and after.
pub(in crate::workspace) async fn operations(
    ask: WorkspaceAsk,
) -> Result<OkJson<OperationQueue>, ApiRefusal> {
    let workspace_id = workspace_asked(&ask)?;
    permit(&ask, workspace_id, Permission::ReadNotes).await?;
    let page = page(&ask)?;
    let store = &ask.site.store;
    let waiting = store
        .pending_operations(workspace_id, one_more(page))
        .await?;
    let limit = page.limit as usize;
    let mut operations = vec![];
    for operation in waiting.iter().take(limit) {
        let run = store.run(operation.run_id.clone()).await?;
        let sides = diff::sides(store, operation).await?;
        operations.push(QueuedOperation {
            operation: runs::with_diff(&ask, operation).await?,
            rule_id: run.map(|run| Id(run.rule_id)),
            is_outdated: sides.is_outdated,
            before: sides.before,
            after: sides.after,
        });
    }
    let next = page.offset.saturating_add(page.limit);
    Ok(OkJson(OperationQueue {
        operations,
        pending: store.pending_count(workspace_id).await?,
        next_offset: (waiting.len() > limit).then_some(next),
    }))
}

/// The memory that the next run of the rule begins with, as its file has it.
pub(in crate::workspace) async fn memory(
    ask: WorkspaceAsk,
) -> Result<OkJson<AgentMemory>, ApiRefusal> {
    let rule = rules::found(&ask, Permission::ReadNotes).await?;
    let none = || {
        let message = "only rules with the action kjxlkj_agent have a memory";
        ApiRefusal::new(Code::Conflict, message)
    };
    let Ok(Action::Loop(action)) = rule.draft.action(&*ask.site.surroundings) else {
        return Err(none());
    };
    let (workspace, name) = (&rule.draft.workspace_id, action.memory.kv_store_path);
    let file = ask.site.surroundings.memory_file(workspace, &name);
    let file = file.ok_or_else(none)?;
    let file = MemoryFile::new(file);
    let unreadable = |_| ApiRefusal::new(Code::AgentMemoryStoreError, "the memory cannot be read");
    let memory = file.read().map_err(unreadable)?;
    Ok(OkJson(AgentMemory {
        rule_id: Id(rule.rule_id),
        name,
        bytes: memory.as_ref().map_or(0, |memory| memory.bytes()),
        entries: memory.map(|memory| memory.entries().clone()),
        run_id: file.run().map_err(unreadable)?,
    }))
}
