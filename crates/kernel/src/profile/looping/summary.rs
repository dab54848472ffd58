//! What is kept of an instruction for whoever looks at the run later: no text of a reply or of a note.

use std::collections::BTreeSet;

use serde_json::Value;

use super::operation::{OperationOutcome, OperationSummary};
use crate::config::{ScopeCode, TAGS};
use crate::decode::attrless::{RECORD_ADD, RECORD_SEARCH, RECORD_UPDATE};
use crate::event::{Call, Outcome, RefusalCode, ToolFinished};
use crate::reading::folded;
use crate::uuid::OperationId;

const ABOUT_CHARS_MAX: usize = 100;

/// Where one title stands for several notes, which only a person or the agent can tell apart.
const AMBIGUOUS_TITLE: &str = "AMBIGUOUS_TITLE";

/// What the records of a turn said about notes that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Alike {
    /// No records were looked at.
    #[default]
    Unseen,
    None,
    Some,
}

/// Whether a result shows notes with the same title.
pub(crate) fn alike_in(call: &Call, finished: &ToolFinished) -> Alike {
    if finished.code.as_deref() == Some(AMBIGUOUS_TITLE) {
        return Alike::Some;
    }
    let is_record = [RECORD_ADD, RECORD_SEARCH].contains(&&*call.tool);
    if !is_record || finished.outcome != Outcome::Ok {
        return Alike::Unseen;
    }
    let result: Value = serde_json::from_str(&finished.output).unwrap_or_default();
    let others = result["same_title"].as_array();
    if others.is_some_and(|others| !others.is_empty()) {
        return Alike::Some;
    }
    let Some(found) = result["results"].as_array() else {
        return Alike::Unseen;
    };
    let titles = found.iter().filter_map(|note| note["title"].as_str());
    let mut known = BTreeSet::new();
    let mut titles = titles.map(folded);
    match titles.any(|title| !known.insert(title)) {
        true => Alike::Some,
        false => Alike::None,
    }
}

/// What a call did; `None` for what only touched the memory, and did.
pub(crate) fn summary_of_finished(
    turn: u32,
    call: &Call,
    about: &str,
    finished: &ToolFinished,
) -> Option<OperationSummary> {
    let is_ok = finished.outcome == Outcome::Ok;
    if is_ok && !call.tool.starts_with("record_") {
        return None;
    }
    let result: Value = serde_json::from_str(&finished.output).unwrap_or_default();
    let writes = [RECORD_ADD, RECORD_UPDATE].contains(&&*call.tool);
    let parsed = |name: &str| result[name].as_str().filter(|_| writes);
    let operation_id: Option<OperationId> = parsed("operation_id").and_then(|id| id.parse().ok());
    Some(OperationSummary {
        turn,
        instruction: call.tool.to_string(),
        about: about.chars().take(ABOUT_CHARS_MAX).collect(),
        outcome: match (is_ok, operation_id) {
            (true, Some(_)) => OperationOutcome::Proposed,
            (true, None) => OperationOutcome::Done,
            (false, _) if finished.code.as_deref().is_some_and(is_refusal) => {
                OperationOutcome::Refused
            }
            (false, _) => OperationOutcome::Failed,
        },
        code: finished.code.as_deref().map(str::to_owned),
        note_id: parsed("note_id").and_then(|id| id.parse().ok()),
        version: result["version"].as_u64().filter(|_| writes),
        operation_id,
    })
}

/// A call that was not made at all because of the scope of the run. What could not be read is no operation.
pub(crate) fn summary_of_refused(turn: u32, call: &Call, about: &str) -> Option<OperationSummary> {
    let refusal = call.refused.as_ref()?;
    let is_known = TAGS.contains(&&*call.tool);
    (is_known && refusal.code == RefusalCode::OutOfScope).then(|| OperationSummary {
        turn,
        instruction: call.tool.to_string(),
        about: about.chars().take(ABOUT_CHARS_MAX).collect(),
        outcome: OperationOutcome::Refused,
        code: Some(ScopeCode::ScopeViolation.as_str().to_owned()),
        note_id: None,
        version: None,
        operation_id: None,
    })
}

/// Whether a code says that something may not be, not that something broke.
fn is_refusal(code: &str) -> bool {
    code != "INTERNAL_ERROR"
}
