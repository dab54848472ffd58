//! Patches of notes over a socket: made once for each key, against the version that the client saw.
//!
//! A version that is not the newest any more is no error but an answer: the client reads the note and makes its patch
//! anew.

use std::sync::Arc;

use bonded_workspace::store::{By, IdempotencyKey, Write};
use bonded_workspace_rules::{Actor, Chain, Change, Code, NoteEdit, NoteWrite, Refused};

use super::heard::Patch;
use super::message::SocketMessage;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::access::WorkspaceCaller;
use crate::workspace::api::notes::no_note;
use crate::workspace::site::Site;

/// As over HTTP.
const KEY_CHARS_MAX: usize = 200;

/// Applies a patch and says what came of it.
pub(super) async fn apply(
    site: &Arc<Site>,
    caller: &WorkspaceCaller,
    request_id: Option<&str>,
    patch: Patch,
) -> Result<SocketMessage, ApiRefusal> {
    let user_id = caller.user_id;
    site.writes.take(&site.store, user_id).await?;
    let key = patch.idempotency_key.clone();
    if !(1..=KEY_CHARS_MAX).contains(&key.chars().count()) {
        return Err(ApiRefusal::bad(format!(
            "idempotency_key: 1 to {KEY_CHARS_MAX} characters"
        )));
    }
    let note_id = patch.note_id;
    let note = site
        .store
        .note(note_id)
        .await?
        .ok_or_else(|| no_note(note_id))?;
    let write = Write {
        actor: Actor::User { user_id },
        at: site.now(),
        request_id: request_id.unwrap_or_default().to_owned(),
        key: Some(IdempotencyKey {
            scope: format!("patch {} {note_id}", note.workspace_id),
            key: key.clone(),
        }),
        chain: Chain::default(),
        change: Change::UpdateNote(NoteWrite {
            note_id,
            base_version: patch.base_version,
            edit: NoteEdit {
                patch: Some(patch.patch_ops),
                ..NoteEdit::default()
            },
        }),
    };
    match site.store.write_by(By::Asker(caller.proof), write).await {
        Ok(written) => {
            let event = written.events.last();
            Ok(SocketMessage::PatchCommitted {
                request_id: request_id.map(str::to_owned),
                note_id: note_id.into(),
                version: event.and_then(|event| event.version),
                event_seq: event.map(|event| event.event_seq),
                idempotency_key: key,
            })
        }
        Err(error) => {
            let Some(Refused::VersionConflict {
                expected_version,
                current,
            }) = error.refused()
            else {
                return Err(error.into());
            };
            Ok(SocketMessage::PatchRejected {
                request_id: request_id.map(str::to_owned),
                note_id: note_id.into(),
                expected_version: *expected_version,
                current_version: current.version,
                reason: Code::VersionMismatch.as_str(),
                idempotency_key: key,
            })
        }
    }
}
