//! What a client says over its socket.
//!
//! A message is read as strictly as a body: unknown fields are refused, and depth and size are bounded.

use bonded_kernel::{NoteId, WorkspaceId};
use bonded_workspace_rules::{Code, PatchOp};
use serde::Deserialize;
use serde_json::Value;

use crate::json_api::body::{self, fields};
use crate::json_api::refusal::ApiRefusal;

/// For names that clients give their messages.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// A message that is understood.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// To follow something, from the cursor on.
    Subscribe { of: Subject, cursor: Option<u64> },
    /// To follow it no more.
    Unsubscribe { stream_id: String },
    /// What the client has taken in.
    Ack { stream_id: String, event_seq: u64 },
    /// To change a note.
    ApplyPatch(Patch),
    /// To hear that the server lives.
    Ping,
}

/// What a stream is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The events of one note.
    Note(NoteId),
    /// All events of one workspace.
    Workspace(WorkspaceId),
}

impl Subject {
    /// As the client names it.
    pub(super) fn stream_id(self) -> String {
        match self {
            Self::Note(note_id) => format!("note:{note_id}"),
            Self::Workspace(workspace_id) => format!("workspace:{workspace_id}"),
        }
    }
}

/// A change of a note's text.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patch {
    /// The note that is meant.
    pub(super) note_id: NoteId,
    /// The version that the client saw.
    pub(super) base_version: u64,
    /// From the beginning of the text on.
    pub(super) patch_ops: Vec<PatchOp>,
    /// Drawn by the client, and the same when it repeats the patch.
    pub(super) idempotency_key: String,
    /// The client's clock; it is heard and not believed.
    #[serde(default, rename = "client_ts")]
    _client_ts: Value,
}

/// For `subscribe_note`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfNote {
    note_id: NoteId,
    cursor: Option<u64>,
}

/// For `subscribe_workspace`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfWorkspace {
    workspace_id: WorkspaceId,
    cursor: Option<u64>,
}

/// For `unsubscribe_note` and `unsubscribe_workspace`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfStream {
    stream_id: String,
}

/// For `ack`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acked {
    stream_id: String,
    event_seq: u64,
}

/// For messages without fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads a message. The name that the client gave it comes back in any case, so that it knows what is answered.
pub(super) fn read(text: &[u8]) -> (Option<String>, Result<Heard, ApiRefusal>) {
    let mut message = match body::parse(text) {
        Ok(message) => message,
        Err(refusal) => return (None, Err(bad(refusal.message))),
    };
    let Value::Object(members) = &mut message else {
        return (None, Err(bad("a message is a JSON object with a type")));
    };
    let request_id = match members.remove("request_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.chars().count() <= REQUEST_ID_CHARS_MAX => Some(name),
        Some(_) => {
            return (
                None,
                Err(bad("request_id: a text of at most 128 characters")),
            );
        }
    };
    let Some(Value::String(kind)) = members.remove("type") else {
        return (
            request_id,
            Err(bad("a message needs a type, which is a text")),
        );
    };
    (request_id, of_kind(&kind, message))
}

/// The type was taken out before, so that the rest has only its own fields.
fn of_kind(kind: &str, message: Value) -> Result<Heard, ApiRefusal> {
    let heard = match kind {
        "subscribe_note" => fields(message).map(|it: OfNote| Heard::Subscribe {
            of: Subject::Note(it.note_id),
            cursor: it.cursor,
        }),
        "subscribe_workspace" => fields(message).map(|it: OfWorkspace| Heard::Subscribe {
            of: Subject::Workspace(it.workspace_id),
            cursor: it.cursor,
        }),
        "unsubscribe_note" | "unsubscribe_workspace" => {
            fields(message).map(|it: OfStream| Heard::Unsubscribe {
                stream_id: it.stream_id,
            })
        }
        "ack" => fields(message).map(|it: Acked| Heard::Ack {
            stream_id: it.stream_id,
            event_seq: it.event_seq,
        }),
        "apply_patch" => fields(message).map(Heard::ApplyPatch),
        "ping" => fields(message).map(|Nothing {}| Heard::Ping),
        _ => {
            let shown: String = kind.chars().take(64).collect();
            let message = format!("there is no message of type {shown:?}");
            return Err(ApiRefusal::new(Code::WsUnknownMessage, message));
        }
    };
    heard.map_err(|refusal| bad(refusal.message))
}

/// In the socket's own words.
fn bad(message: impl Into<String>) -> ApiRefusal {
    ApiRefusal::new(Code::WsBadPayload, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_understood_or_refused_with_its_own_name() {
        let id = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
        let rows = [
            (
                format!(r#"{{"type":"subscribe_note","request_id":"r","note_id":"{id}"}}"#),
                Some("r"),
                None,
            ),
            (
                format!(r#"{{"type":"subscribe_workspace","workspace_id":"{id}","cursor":null}}"#),
                None,
                None,
            ),
            (
                format!(
                    r#"{{"type":"apply_patch","note_id":"{id}","base_version":1,"patch_ops":[{{"retain":1}},{{"insert":"x"}}],"idempotency_key":"k","client_ts":1}}"#
                ),
                None,
                None,
            ),
            (
                r#"{"type":"ping","request_id":"r"}"#.into(),
                Some("r"),
                None,
            ),
            (
                r#"{"type":"dance","request_id":"r"}"#.into(),
                Some("r"),
                Some(Code::WsUnknownMessage),
            ),
            (
                r#"{"type":"ack","request_id":"r"}"#.into(),
                Some("r"),
                Some(Code::WsBadPayload),
            ),
            (
                r#"{"type":"ping","request_id":7}"#.into(),
                None,
                Some(Code::WsBadPayload),
            ),
            (
                r#"{"type":"ping","more":7}"#.into(),
                None,
                Some(Code::WsBadPayload),
            ),
            (r#"{"type":7}"#.into(), None, Some(Code::WsBadPayload)),
            ("[]".into(), None, Some(Code::WsBadPayload)),
            ("{".into(), None, Some(Code::WsBadPayload)),
            ("[".repeat(100_000), None, Some(Code::WsBadPayload)),
        ];
        for (text, name, expected) in rows {
            let (request_id, heard) = read(text.as_bytes());
            assert_eq!(request_id.as_deref(), name, "{text:.80}");
            assert_eq!(
                heard.err().map(|refusal| refusal.code),
                expected,
                "{text:.80}"
            );
        }
    }
}
