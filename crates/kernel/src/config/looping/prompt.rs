//! What an agent that works in loops is given to read in which state, and what it may write.

use serde::{Deserialize, Serialize};

/// What an agent may write, where its file does not say less.
pub const TAGS: [&str; 8] = [
    "state_add",
    "state_delete",
    "ram_add",
    "ram_delete",
    "record_add",
    "record_issue",
    "record_update",
    "record_search",
];
/// The states that have segments of their own.
pub const STATES: [&str; 6] = [
    "planning",
    "executing",
    "evaluating",
    "idle",
    "record_organizing",
    "paging",
];
/// The condition of segments that are always given.
pub const DEFAULT_CONDITION: &str = "default";

/// How an agent's changes to notes take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At once.
    Yolo,
    /// When a person has applied them.
    Reviewed,
}

/// A part of the prompt, and when it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The state in which it is given, or [`DEFAULT_CONDITION`].
    pub condition: String,
    /// What the model reads then, as the prompt file has it.
    pub prompt: String,
}

/// The segments that are given in these states, in their order.
pub fn segments_for<'a>(
    segments: &'a [Segment],
    states: &'a [&str],
) -> impl Iterator<Item = &'a Segment> {
    let applies = |it: &&Segment| {
        it.condition == DEFAULT_CONDITION || states.contains(&it.condition.as_str())
    };
    segments.iter().filter(applies)
}
