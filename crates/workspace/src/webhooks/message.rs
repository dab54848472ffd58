//! What a message says: which rule fired, on what, and about which note.
//!
//! The text of a note stays here: whoever may have it can ask for it.

use serde_json::json;

use crate::firing::Firing;
use crate::times;

/// The body of the message, the same for every attempt.
pub(super) fn of(firing: &Firing) -> Vec<u8> {
    let mut message = firing.trigger();
    message["run_id"] = json!(firing.run.run_id);
    message["rule_name"] = json!(firing.rule.draft.name);
    message["fired_at"] = json!(times::rfc3339(firing.run.queued_at));
    if let Some(note) = &firing.note {
        message["note"]["keywords"] = json!(note.keywords);
    }
    message.to_string().into_bytes()
}
