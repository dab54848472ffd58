//! Things as a client is shown them. Kernel types are never the wire's: their times and texts are written here.

use bonded_kernel::RunAudit;
use bonded_workspace::store::{Hit, ListedNote, Outcome};
use bonded_workspace_rules::{
    Actor, AutomationRun, Note, Operation, Proposal, Role, Rule, StoredEvent, Workspace,
};
use serde_json::{Value, json};

use super::refusal::Refusal;
use bonded_workspace::times::{rfc3339, shown as time};

/// How things stand after a write.
pub(super) fn outcome(outcome: &Outcome) -> Result<Value, Refusal> {
    match outcome {
        Outcome::Note(shown) => Ok(note(shown)),
        Outcome::Workspace(shown) => Ok(workspace(shown)),
        Outcome::Rule(shown) => Ok(rule(&shown.rule)),
        Outcome::Run(shown) => Ok(run(shown)),
        Outcome::Operation(shown) => Ok(operation(shown)),
        Outcome::Member { .. } | Outcome::Runs(_) | Outcome::Done => {
            Err(Refusal::internal("the write left nothing to show"))
        }
    }
}

pub fn note(note: &Note) -> Value {
    json!({
        "note_id": note.note_id,
        "workspace_id": note.workspace_id,
        "title": note.title,
        "markdown": &*note.markdown,
        "note_kind": note.note_kind,
        "access_scope": note.access_scope,
        "keywords": note.keywords,
        "metadata": note.metadata,
        "version": note.version,
        "created_at": rfc3339(note.created_at),
        "updated_at": rfc3339(note.updated_at),
        "deleted_at": time(note.deleted_at),
    })
}

/// A note in a list: all but its text.
pub fn note_summary(note: &ListedNote) -> Value {
    json!({
        "note_id": note.note_id,
        "workspace_id": note.workspace_id,
        "title": note.title,
        "note_kind": note.note_kind,
        "access_scope": note.access_scope,
        "keywords": note.keywords,
        "version": note.version,
        "created_at": rfc3339(note.created_at),
        "updated_at": rfc3339(note.updated_at),
        "deleted_at": time(note.deleted_at),
    })
}

pub(super) fn workspace(workspace: &Workspace) -> Value {
    json!({
        "workspace_id": workspace.workspace_id,
        "name": workspace.name,
        "state": workspace.state,
        "created_at": rfc3339(workspace.created_at),
        "updated_at": rfc3339(workspace.updated_at),
    })
}

pub(super) fn workspace_with_role(shown: &Workspace, role: Role) -> Value {
    let mut shown = workspace(shown);
    shown["role"] = json!(role);
    shown
}

/// An event of a stream, or a version of a note: who did what when.
pub(super) fn event(stored: &StoredEvent) -> Value {
    let (actor_type, actor_id) = actor(&stored.actor);
    let mut event = json!(stored.event);
    json!({
        "event_id": stored.event_id,
        "workspace_id": stored.workspace_id,
        "event_seq": stored.event_seq,
        "event_type": event["event_type"].take(),
        "note_id": stored.note_id,
        "version": stored.version,
        "actor_type": actor_type,
        "actor_id": actor_id,
        "timestamp": rfc3339(stored.at),
        "depth": stored.chain.depth,
        "payload": event["payload"].take(),
    })
}

/// Who it was, for a table.
pub fn actor_name(by: &Actor) -> String {
    match actor(by) {
        (kind, Value::String(id)) => format!("{kind} {id}"),
        (kind, _) => kind.to_owned(),
    }
}

fn actor(actor: &Actor) -> (&'static str, Value) {
    match actor {
        Actor::User { user_id } => ("user", json!(user_id)),
        Actor::Agent { run_id, .. } => ("agent", json!(run_id)),
        Actor::System => ("system", Value::Null),
    }
}

/// A rule: what was written, with its names and times.
pub fn rule(rule: &Rule) -> Value {
    let mut shown = json!(rule.draft);
    shown["rule_id"] = json!(rule.rule_id);
    shown["version"] = json!(rule.version);
    shown["created_at"] = json!(rfc3339(rule.created_at));
    shown["updated_at"] = json!(rfc3339(rule.updated_at));
    shown
}

/// A note that was found.
pub fn hit(hit: &Hit) -> Value {
    json!({
        "note_id": hit.note.note_id,
        "workspace_id": hit.note.workspace_id,
        "title": hit.note.title,
        "snippet": hit.snippet,
        "note_kind": hit.note.note_kind,
        "score_lexical": hit.score,
        "score_semantic": Value::Null,
        "score_rrf": Value::Null,
        "score_rerank": Value::Null,
        "score_final": hit.score,
        "backlink_count": hit.backlink_count,
        "updated_at": rfc3339(hit.note.updated_at),
    })
}

pub fn run(run: &AutomationRun) -> Value {
    json!({
        "run_id": run.run_id,
        "rule_id": run.rule_id,
        "workspace_id": run.workspace_id,
        "triggering_event_id": run.triggering_event_id,
        "status": run.status,
        "depth": run.depth,
        "queued_at": rfc3339(run.queued_at),
        "started_at": time(run.started_at),
        "finished_at": time(run.finished_at),
        "error_code": run.error_code,
        "result_json": run.result_json,
        "audit": run.audit.as_ref().map(|shown| audit(shown, run)),
    })
}

fn audit(audit: &RunAudit, run: &AutomationRun) -> Value {
    json!({
        "run_id": run.run_id,
        "rule_id": run.rule_id,
        "prompt_hash": audit.prompt_hash,
        "parser_version": audit.parser_version,
        "loop_count": audit.loop_count,
        "operation_count": audit.operation_count,
        "error_code": audit.error_code,
        "started_at": rfc3339(audit.started_at),
        "completed_at": rfc3339(audit.completed_at),
        "operations": audit.operations,
        "operations_left_out": audit.operations_left_out,
    })
}

/// The audit of a run as one line that a person can read.
pub fn audit_line(run: &AutomationRun) -> String {
    let Some(audit) = &run.audit else {
        return run.error_code.clone().unwrap_or_default();
    };
    let error = audit
        .error_code
        .as_deref()
        .map_or(String::new(), |code| format!(", {code}"));
    let prompt = audit.prompt_hash.get(..12).unwrap_or(&audit.prompt_hash);
    format!(
        "{} loops, {} operations, prompt {prompt}, parser {}{error}",
        audit.loop_count, audit.operation_count, audit.parser_version
    )
}

pub(super) fn operation(operation: &Operation) -> Value {
    let (kind, note_id, base_version) = match &operation.proposal {
        Proposal::CreateNote(new) => ("create_note", Some(new.note_id), None),
        Proposal::UpdateNote(write) => {
            ("update_note", Some(write.note_id), Some(write.base_version))
        }
        Proposal::RecordIssue { .. } => ("record_issue", None, None),
    };
    let decided_by = operation.decided_by.as_ref().map(|by| actor(by).1);
    json!({
        "operation_id": operation.operation_id,
        "run_id": operation.run_id,
        "operation_index": operation.operation_index,
        "kind": kind,
        "note_id": note_id,
        "base_version": base_version,
        "digest": operation.digest(),
        "status": operation.status,
        "reject_reason": operation.reject_reason,
        "proposed_at": rfc3339(operation.proposed_at),
        "decided_at": time(operation.decided_at),
        "decided_by": decided_by,
    })
}
