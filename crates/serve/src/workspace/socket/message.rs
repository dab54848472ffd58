//! The messages that a client gets over its socket.
//!
//! Every message has a type; an answer has the name that the client gave its question.

use bonded_kernel::{NoteId, RunId, WorkspaceId};
use bonded_workspace_rules::{Code, EventSubject, StoredEvent};
use serde::Serialize;
use serde_json::Value;

use super::heard::Subject;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::dto::{EventAnswer, Id};

/// What the server says. Types may be added, and fields.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum SocketMessage {
    /// In the envelope that HTTP has too.
    Error {
        code: &'static str,
        message: String,
        details: Value,
        request_id: Option<String>,
    },
    /// The answer to a ping of the client's.
    Pong { request_id: Option<String> },
    /// Says where the stream begins and how the note or the workspace stands.
    Subscribed {
        request_id: Option<String>,
        stream_id: String,
        current_version: u64,
        replay_cursor: u64,
    },
    /// Also where there was no such stream.
    Unsubscribed {
        request_id: Option<String>,
        stream_id: String,
    },
    /// An event of a note that is followed.
    NoteEvent {
        stream_id: String,
        workspace_id: Id<WorkspaceId>,
        event_seq: u64,
        note_id: Option<Id<NoteId>>,
        version: Option<u64>,
        event: EventAnswer,
    },
    /// An event of a workspace that is followed.
    WorkspaceEvent {
        stream_id: String,
        workspace_id: Id<WorkspaceId>,
        event_seq: u64,
        event: EventAnswer,
    },
    /// The same where it is about the run of a rule.
    AutomationEvent {
        stream_id: String,
        workspace_id: Id<WorkspaceId>,
        event_seq: u64,
        run_id: RunId,
        status: &'static str,
        payload: EventAnswer,
    },
    /// The note has the patch.
    PatchCommitted {
        request_id: Option<String>,
        note_id: Id<NoteId>,
        version: Option<u64>,
        event_seq: Option<u64>,
        idempotency_key: String,
    },
    /// The note has another version than the one that the client saw.
    PatchRejected {
        request_id: Option<String>,
        note_id: Id<NoteId>,
        expected_version: u64,
        current_version: u64,
        reason: &'static str,
        idempotency_key: String,
    },
}

impl SocketMessage {
    pub(super) fn error(request_id: Option<&str>, refusal: ApiRefusal) -> Self {
        Self::Error {
            code: socket_code(refusal.code).as_str(),
            message: refusal.message,
            details: refusal.details,
            request_id: request_id.map(str::to_owned),
        }
    }

    /// What rules do has a message of its own.
    pub(super) fn event(of: Subject, stored: &StoredEvent) -> Self {
        let stream_id = of.stream_id();
        let workspace_id = Id(stored.workspace_id);
        let event_seq = stored.event_seq;
        let event = EventAnswer::from(stored);
        match (stored.event.subject(), of) {
            (EventSubject::Run(run_id, fact), _) => Self::AutomationEvent {
                stream_id,
                workspace_id,
                event_seq,
                run_id: run_id.clone(),
                status: fact.status().as_str(),
                payload: event,
            },
            (_, Subject::Note(_)) => Self::NoteEvent {
                stream_id,
                workspace_id,
                event_seq,
                note_id: stored.note_id.map(Id),
                version: stored.version,
                event,
            },
            (_, Subject::Workspace(_)) => Self::WorkspaceEvent {
                stream_id,
                workspace_id,
                event_seq,
                event,
            },
        }
    }
}

/// The socket's own words for what HTTP calls otherwise.
const OWN_WORDS: [(Code, Code); 4] = [
    (Code::RoleForbidden, Code::WsForbidden),
    (Code::WorkspaceForbidden, Code::WsForbidden),
    (Code::BadRequest, Code::WsBadPayload),
    (Code::InternalError, Code::WsInternalError),
];

/// Codes without a word of their own stay as they are.
fn socket_code(code: Code) -> Code {
    let own = OWN_WORDS.iter().find(|(http, _)| *http == code);
    own.map_or(code, |(_, own)| *own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted_json::sorted_json;

    #[test]
    fn a_message_has_its_type_and_every_field_of_it() {
        let request_id = || Some("r".to_owned());
        let note_id: NoteId = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11"
            .parse()
            .expect("it is a UUID");
        let rows = [
            (
                SocketMessage::Pong { request_id: None },
                r#"{"request_id":null,"type":"pong"}"#.to_owned(),
            ),
            (
                SocketMessage::error(Some("r"), ApiRefusal::bad("no")),
                format!(
                    r#"{{"code":"{}","details":null,"message":"no","request_id":"r","type":"error"}}"#,
                    Code::WsBadPayload.as_str()
                ),
            ),
            (
                SocketMessage::Subscribed {
                    request_id: request_id(),
                    stream_id: "note:x".into(),
                    current_version: 2,
                    replay_cursor: 7,
                },
                r#"{"current_version":2,"replay_cursor":7,"request_id":"r","stream_id":"note:x","type":"subscribed"}"#.to_owned(),
            ),
            (
                SocketMessage::PatchRejected {
                    request_id: request_id(),
                    note_id: note_id.into(),
                    expected_version: 1,
                    current_version: 2,
                    reason: Code::VersionMismatch.as_str(),
                    idempotency_key: "k".into(),
                },
                format!(
                    r#"{{"current_version":2,"expected_version":1,"idempotency_key":"k","note_id":"{note_id}","reason":"{}","request_id":"r","type":"patch_rejected"}}"#,
                    Code::VersionMismatch.as_str()
                ),
            ),
        ];
        for (message, expected) in rows {
            assert_eq!(sorted_json(&message), expected);
        }
    }
}
