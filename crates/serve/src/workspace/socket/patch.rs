//! Patches of notes over a socket: made once for each key, against the version that the client saw.

use std::sync::Arc;

use bonded_workspace::store::{By, IdempotencyKey, Write};
use bonded_workspace_rules::{Actor, Chain, Change, Code, NoteEdit, NoteWrite, Refused};
use serde_json::{Value, json};

use super::heard::Patch;
use crate::workspace::access::Caller;
use crate::workspace::api::notes::no_note;
use crate::workspace::refusal::Refusal;
use crate::workspace::site::Site;

const KEY_CHARS_MAX: usize = 200;

/// Applies a patch and says what came of it.
pub(super) async fn apply(
    site: &Arc<Site>,
    caller: &Caller,
    request_id: Option<&str>,
    patch: Patch,
) -> Result<Value, Refusal> {
    let user_id = caller.user_id;
    site.writes.take(user_id)?;
    let key = patch.idempotency_key.clone();
    if !(1..=KEY_CHARS_MAX).contains(&key.chars().count()) {
        return Err(Refusal::bad(format!(
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
            Ok(json!({
                "type": "patch_committed",
                "request_id": request_id,
                "note_id": note_id,
                "version": event.and_then(|event| event.version),
                "event_seq": event.map(|event| event.event_seq),
                "idempotency_key": key,
            }))
        }
        Err(error) => {
            let Some(Refused::VersionConflict {
                expected_version,
                current,
            }) = error.refused()
            else {
                return Err(error.into());
            };
            Ok(json!({
                "type": "patch_rejected",
                "request_id": request_id,
                "note_id": note_id,
                "expected_version": expected_version,
                "current_version": current.version,
                "reason": Code::VersionMismatch.as_str(),
                "idempotency_key": key,
            }))
        }
    }
}
