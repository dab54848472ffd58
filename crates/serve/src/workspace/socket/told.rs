//! What a client is told over its socket.

use bonded_workspace_rules::{Code, StoredEvent, WorkspaceEvent};
use serde_json::{Value, json};

use super::heard::Subject;
use super::stream::Stream;
use crate::workspace::refusal::Refusal;
use crate::workspace::shown;

/// An error, in the envelope that HTTP has too.
pub(super) fn error(request_id: Option<&str>, refusal: &Refusal) -> Value {
    json!({
        "type": "error",
        "code": socket_code(refusal.code).as_str(),
        "message": refusal.message,
        "details": refusal.details,
        "request_id": request_id,
    })
}

/// The socket's own words for what HTTP calls otherwise.
const OWN_WORDS: [(Code, Code); 4] = [
    (Code::RoleForbidden, Code::WsForbidden),
    (Code::WorkspaceForbidden, Code::WsForbidden),
    (Code::BadRequest, Code::WsBadPayload),
    (Code::InternalError, Code::WsInternalError),
];

fn socket_code(code: Code) -> Code {
    let own = OWN_WORDS.iter().find(|(http, _)| *http == code);
    own.map_or(code, |(_, own)| *own)
}

pub(super) fn pong(request_id: Option<&str>) -> Value {
    json!({ "type": "pong", "request_id": request_id })
}

pub(super) fn subscribed(request_id: Option<&str>, stream: &Stream, current_version: u64) -> Value {
    json!({
        "type": "subscribed",
        "request_id": request_id,
        "stream_id": stream.id(),
        "current_version": current_version,
        "replay_cursor": stream.cursor,
    })
}

pub(super) fn unsubscribed(request_id: Option<&str>, stream_id: &str) -> Value {
    json!({ "type": "unsubscribed", "request_id": request_id, "stream_id": stream_id })
}

/// An event of a stream. What rules do has a message of its own.
pub(super) fn event(stream: &Stream, stored: &StoredEvent) -> Value {
    let mut told = json!({
        "type": "workspace_event",
        "stream_id": stream.id(),
        "workspace_id": stored.workspace_id,
        "event_seq": stored.event_seq,
    });
    if matches!(stream.of, Subject::Note(_)) {
        told["type"] = "note_event".into();
        told["note_id"] = json!(stored.note_id);
        told["version"] = json!(stored.version);
    }
    if let Some((run_id, status)) = automation(&stored.event) {
        told["type"] = "automation_event".into();
        told["run_id"] = json!(run_id);
        told["status"] = status.into();
        told["payload"] = shown::event(stored);
    } else {
        told["event"] = shown::event(stored);
    }
    told
}

/// The run and the status of an event that is about a rule's run.
fn automation(event: &WorkspaceEvent) -> Option<(&bonded_kernel::RunId, &'static str)> {
    Some(match event {
        WorkspaceEvent::AutomationQueued(queued) => (&queued.run_id, "queued"),
        WorkspaceEvent::AutomationRunning { run_id, .. } => (run_id, "running"),
        WorkspaceEvent::AutomationSucceeded(ended) => (&ended.run_id, "succeeded"),
        WorkspaceEvent::AutomationFailed(ended) => (&ended.run_id, "failed"),
        WorkspaceEvent::AutomationCancelled(ended) => (&ended.run_id, "cancelled"),
        WorkspaceEvent::WorkspaceCreated { .. }
        | WorkspaceEvent::WorkspaceUpdated { .. }
        | WorkspaceEvent::MemberSet(_)
        | WorkspaceEvent::MemberRemoved { .. }
        | WorkspaceEvent::NoteCreated(_)
        | WorkspaceEvent::NoteUpdated(_)
        | WorkspaceEvent::NoteTitleChanged { .. }
        | WorkspaceEvent::NoteDeleted { .. }
        | WorkspaceEvent::NoteUndeleted { .. }
        | WorkspaceEvent::NoteMetadataSet { .. }
        | WorkspaceEvent::NoteMetadataDeleted { .. }
        | WorkspaceEvent::RuleCreated { .. }
        | WorkspaceEvent::RuleUpdated { .. }
        | WorkspaceEvent::RuleDeleted { .. }
        | WorkspaceEvent::OperationProposed(_)
        | WorkspaceEvent::OperationApplied { .. }
        | WorkspaceEvent::OperationRejected { .. }
        | WorkspaceEvent::IssueRecorded(_) => return None,
    })
}
