//! Runs of rules, what they proposed, and what they want looked at.
//!
//! An operation is shown with its digest and with what it would change, because whoever applies it has to name exactly
//! what they have seen.

use std::collections::BTreeMap;

use bonded_kernel::{EventId, Hash, NoteId, OperationId, RuleId, RunAudit, WorkspaceId};
use bonded_workspace::store::ListedIssue;
use bonded_workspace_rules::{AutomationRun, EditedProposal, Operation, Proposal};
#[cfg(test)]
use bonded_workspace_rules::{KEYWORD_CHARS_MAX, KEYWORDS_MAX, TITLE_CHARS_MAX};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::events::{EventAnswer, actor};
use super::scalars::{Id, Timestamp};
use super::words::{OperationOutcome, OperationStatus, RunStatus};
#[cfg(test)]
use crate::workspace::api::runs::DECISIONS_MAX;

/// A digest in hexadecimal digits.
#[cfg(test)]
const DIGEST: &str = "^[0-9a-f]{64}$";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Run"))]
pub(crate) struct RunAnswer {
    run_id: String,
    rule_id: Id<RuleId>,
    workspace_id: Id<WorkspaceId>,
    triggering_event_id: Id<EventId>,
    status: RunStatus,
    depth: u32,
    /// What the person who launched it asked, in place of what the rule asks.
    request: Option<String>,
    queued_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    error_code: Option<String>,
    result_json: Value,
    audit: Option<Audit>,
}

impl From<&AutomationRun> for RunAnswer {
    fn from(run: &AutomationRun) -> Self {
        Self {
            run_id: run.run_id.to_string(),
            rule_id: Id(run.rule_id),
            workspace_id: Id(run.workspace_id),
            triggering_event_id: Id(run.triggering_event_id),
            status: run.status.into(),
            depth: run.depth,
            request: run.request.clone(),
            queued_at: run.queued_at.into(),
            started_at: run.started_at.map(Timestamp::from),
            finished_at: run.finished_at.map(Timestamp::from),
            error_code: run.error_code.clone(),
            result_json: run.result_json.clone(),
            audit: run.audit.as_ref().map(|audit| Audit::of(audit, run)),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Audit {
    run_id: String,
    rule_id: Id<RuleId>,
    prompt_hash: String,
    parser_version: String,
    loop_count: u32,
    operation_count: u32,
    error_code: Option<String>,
    started_at: Timestamp,
    completed_at: Timestamp,
    /// What the run did to notes, and what it was refused, in order; the first 500.
    operations: Vec<OperationSummary>,
    operations_left_out: u32,
}

impl Audit {
    fn of(audit: &RunAudit, run: &AutomationRun) -> Self {
        let operations = audit.operations.iter();
        Self {
            run_id: run.run_id.to_string(),
            rule_id: Id(run.rule_id),
            prompt_hash: audit.prompt_hash.clone(),
            parser_version: audit.parser_version.clone(),
            loop_count: audit.loop_count,
            operation_count: audit.operation_count,
            error_code: audit.error_code.clone(),
            started_at: audit.started_at.into(),
            completed_at: audit.completed_at.into(),
            operations: operations.map(OperationSummary::from).collect(),
            operations_left_out: audit.operations_left_out,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OperationSummary {
    #[serde(rename = "loop")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    turn: u32,
    instruction: String,
    /// The key, the state or the query.
    #[serde(skip_serializing_if = "String::is_empty")]
    about: String,
    outcome: OperationOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Id<NoteId>"))]
    note_id: Option<Id<NoteId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u64", range(min = 1)))]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Id<OperationId>"))]
    operation_id: Option<Id<OperationId>>,
}

impl From<&bonded_kernel::OperationSummary> for OperationSummary {
    fn from(operation: &bonded_kernel::OperationSummary) -> Self {
        Self {
            turn: operation.turn,
            instruction: operation.instruction.clone(),
            about: operation.about.clone(),
            outcome: operation.outcome.into(),
            code: operation.code.clone(),
            note_id: operation.note_id.map(Id),
            version: operation.version,
            operation_id: operation.operation_id.map(Id),
        }
    }
}

/// A run with its audit and everything that it proposed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunWhole {
    #[serde(flatten)]
    pub(crate) run: RunAnswer,
    pub(crate) operations: Vec<OperationAnswer>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Runs {
    pub(crate) runs: Vec<RunAnswer>,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}

/// A write that waits for a person, or what became of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Operation"))]
pub(crate) struct OperationAnswer {
    operation_id: Id<OperationId>,
    run_id: String,
    operation_index: u32,
    kind: OperationKind,
    note_id: Option<Id<NoteId>>,
    base_version: Option<u64>,
    /// Covers everything that the operation would write; a decision to apply it names this
    #[cfg_attr(test, schemars(regex(pattern = DIGEST)))]
    digest: String,
    status: OperationStatus,
    reject_reason: Option<String>,
    proposed_at: Timestamp,
    decided_at: Option<Timestamp>,
    decided_by: Option<String>,
    /// Whether the person who applied it had changed it before.
    was_edited: bool,
    diff: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum OperationKind {
    CreateNote,
    UpdateNote,
    RecordIssue,
}

impl OperationAnswer {
    /// An operation as a person judges it, with what it would change.
    pub(crate) fn of(operation: &Operation, diff: String) -> Self {
        let (kind, note_id, base_version) = match &operation.proposal {
            Proposal::CreateNote(new) => (OperationKind::CreateNote, Some(new.note_id), None),
            Proposal::UpdateNote(write) => {
                let base_version = Some(write.base_version);
                (OperationKind::UpdateNote, Some(write.note_id), base_version)
            }
            Proposal::RecordIssue { .. } => (OperationKind::RecordIssue, None, None),
        };
        Self {
            operation_id: Id(operation.operation_id),
            run_id: operation.run_id.to_string(),
            operation_index: operation.operation_index,
            kind,
            note_id: note_id.map(Id),
            base_version,
            digest: operation.digest().to_string(),
            status: operation.status.into(),
            reject_reason: operation.reject_reason.clone(),
            proposed_at: operation.proposed_at.into(),
            decided_at: operation.decided_at.map(Timestamp::from),
            decided_by: operation.decided_by.as_ref().and_then(|by| actor(by).1),
            was_edited: operation.was_edited,
            diff,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Review"))]
pub(crate) struct ReviewRequest {
    #[cfg_attr(test, schemars(length(min = 1, max = DECISIONS_MAX)))]
    pub(crate) decisions: Vec<Decision>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, extend("anyOf" = [
    { "properties": { "digest": { "type": "string" } }, "required": ["digest"] },
    { "properties": { "decision": { "const": "reject" } } },
])))]
pub(crate) struct Decision {
    pub(crate) operation_id: Id<OperationId>,
    #[cfg_attr(test, schemars(extend("enum" = ["apply", "reject"])))]
    pub(crate) decision: String,
    pub(crate) reject_reason: Option<String>,
    /// That of the operation that was looked at; apply needs it
    #[cfg_attr(test, schemars(with = "Option<String>", regex(pattern = DIGEST)))]
    pub(crate) digest: Option<Hash>,
    /// What is written in the place of what was proposed; only with apply
    pub(crate) edited: Option<EditedText>,
}

/// What is absent is written as it was proposed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minProperties" = 1)))]
pub(crate) struct EditedText {
    #[cfg_attr(test, schemars(length(min = 1, max = TITLE_CHARS_MAX)))]
    title: Option<String>,
    markdown: Option<String>,
    #[cfg_attr(test, schemars(length(max = KEYWORDS_MAX), inner(length(max = KEYWORD_CHARS_MAX))))]
    keywords: Option<Vec<String>>,
}

impl From<&EditedText> for EditedProposal {
    fn from(text: &EditedText) -> Self {
        Self {
            title: text.title.clone(),
            markdown: text.markdown.clone(),
            keywords: text.keywords.clone(),
        }
    }
}

/// What a note holds, before or after.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NoteText {
    pub(crate) title: Option<String>,
    pub(crate) markdown: String,
    pub(crate) note_kind: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) metadata: BTreeMap<String, Value>,
}

/// An operation that waits, with the texts before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QueuedOperation {
    #[serde(flatten)]
    pub(crate) operation: OperationAnswer,
    pub(crate) rule_id: Option<Id<RuleId>>,
    /// Null for what is new.
    pub(crate) before: Option<NoteText>,
    pub(crate) after: Option<NoteText>,
    /// The note has another version by now: apply would be refused.
    pub(crate) is_outdated: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OperationQueue {
    pub(crate) operations: Vec<QueuedOperation>,
    /// How many wait in the workspace.
    pub(crate) pending: u64,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Reviewed {
    pub(crate) status: ReviewedStatus,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum ReviewedStatus {
    Reviewed,
}

/// The event that recorded an issue, and how it was closed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Issue"))]
pub(crate) struct IssueAnswer {
    #[serde(flatten)]
    event: EventAnswer,
    /// Null while it is open.
    closed: Option<ClosingAnswer>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Closing"))]
pub(crate) struct ClosingAnswer {
    at: Timestamp,
    by: Option<String>,
    reason: Option<String>,
}

impl From<&ListedIssue> for IssueAnswer {
    fn from(issue: &ListedIssue) -> Self {
        Self {
            event: EventAnswer::from(&issue.event),
            closed: issue.closed.as_ref().map(|closed| ClosingAnswer {
                at: closed.at.into(),
                by: actor(&closed.by).1,
                reason: closed.reason.clone(),
            }),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CloseIssue {
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Issues {
    pub(crate) issues: Vec<IssueAnswer>,
    /// Where the next page begins; null on the last one.
    pub(crate) next_offset: Option<u64>,
}
