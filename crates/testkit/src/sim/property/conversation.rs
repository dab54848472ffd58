//! What the model was shown, and when it was asked.

use std::collections::BTreeSet;

use bonded_kernel::{Event, FailureClass};

use crate::sim::conversation::{before_last_reply, unanswered_call};
use crate::sim::history::History;

/// The outcome of every call is put before the model. What it said last may be cut short by the end.
pub(super) fn every_call_is_answered(history: &History) -> Result<(), String> {
    let messages = history.live.as_ref().map(|run| run.messages());
    let complete = before_last_reply(messages.unwrap_or_default());
    match unanswered_call(complete) {
        Some(call) => Err(format!("the conversation has {call}")),
        None => Ok(()),
    }
}

pub(super) fn each_request_was_logged_and_sent_once(history: &History) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for sent in &history.requests {
        let (turn, number) = (sent.turn, sent.attempt);
        if !seen.insert((turn, number)) {
            return Err(format!("attempt {number} of turn {turn} was sent twice"));
        }
        let logged = history.entries.iter().any(|entry| {
            let is_start = matches!(
                &entry.event,
                Event::AttemptStarted { attempt, .. } if *attempt == number
            );
            is_start && entry.turn == turn && entry.seq <= sent.log_seq
        });
        if !logged {
            return Err(format!(
                "attempt {number} of turn {turn} was sent before it was logged"
            ));
        }
    }
    Ok(())
}

/// A request that was answered with something of no use is not made again in the same words.
pub(super) fn nothing_is_asked_in_vain_twice(history: &History) -> Result<(), String> {
    let (mut asked, mut in_vain) = (None, BTreeSet::new());
    let mut turn = 0;
    for entry in &history.entries {
        // A loop begins each turn with its memory alone, which may be the same.
        if history.config.looping.is_some() && entry.turn != turn {
            in_vain.clear();
        }
        turn = entry.turn;
        match &entry.event {
            Event::AttemptStarted { request, .. } => {
                let request = format!("{request:?}");
                if in_vain.contains(&request) {
                    return Err(format!("entry {} asks in vain again", entry.seq));
                }
                asked = Some(request);
            }
            Event::ReplyRejected { .. } => in_vain.extend(asked.take()),
            Event::AttemptFailed(failed) if failed.class == FailureClass::Malformed => {
                in_vain.extend(asked.take());
            }
            _ => {}
        }
    }
    Ok(())
}
