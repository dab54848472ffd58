//! Whether every call that a conversation holds was answered in it.

use std::sync::Arc;

use bonded_kernel::Message;

/// Names the first call that has no answer, or an answer that belongs to no call.
pub(crate) fn unanswered_call(messages: &[Message]) -> Option<String> {
    let mut open: Vec<Arc<str>> = vec![];
    for message in messages {
        match message {
            Message::Tool { call_id, .. } => {
                match open.iter().position(|id| id == call_id) {
                    Some(index) => open.remove(index),
                    None => return Some(format!("an answer to {call_id:?}, which was not called")),
                };
            }
            Message::User { .. } | Message::Assistant { .. } => {
                if let Some(id) = open.first() {
                    return Some(format!("call {id:?} without an answer"));
                }
                if let Message::Assistant { calls, .. } = message {
                    open = calls.iter().map(|call| call.id.clone()).collect();
                }
            }
        }
    }
    open.first()
        .map(|id| format!("call {id:?} without an answer"))
}

/// The conversation before what the model said last: all that is complete when a run is stopped.
pub(crate) fn before_last_reply(messages: &[Message]) -> &[Message] {
    let last = messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant { .. }));
    &messages[..last.unwrap_or(messages.len())]
}
