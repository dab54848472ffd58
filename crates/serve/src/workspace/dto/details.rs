//! What a program can act upon when it is refused: `details` of the envelope of errors.
//!
//! Those of a change that the rules refuse are the rules' own; these are the workspace's.

use bonded_workspace_rules::Role;
use serde::Serialize;
use serde_json::Value;

use super::{OperationAnswer, Timestamp};

/// Somebody who may do less.
#[derive(Debug, Serialize)]
pub(crate) struct RoleDetails {
    pub(crate) role_needed: Role,
}

/// A rule that cannot be taken: everything that is wrong with it.
#[derive(Debug, Serialize)]
pub(crate) struct FaultDetails<'a, F> {
    pub(crate) faults: &'a [F],
}

/// What is wrong at one place of a body.
#[derive(Debug, Serialize)]
pub(crate) struct FaultAnswer {
    /// A JSON pointer.
    pub(crate) at: &'static str,
    pub(crate) message: String,
}

/// A stream that ended.
#[derive(Debug, Serialize)]
pub(crate) struct StreamDetails {
    pub(crate) stream_id: String,
}

/// A cursor before the first event that is kept, or beyond the last.
#[derive(Debug, Serialize)]
pub(crate) struct StaleDetails {
    pub(crate) stream_id: String,
    pub(crate) requested_cursor: u64,
    pub(crate) min_available_cursor: u64,
    pub(crate) recovery: Recovery,
}

/// What a client does then.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Recovery {
    ResubscribeFull,
}

/// What the note is now, beside what the rules say of a version that is not the newest.
#[derive(Debug, Serialize)]
pub(crate) struct CurrentNote<'a> {
    #[serde(flatten)]
    pub(crate) conflict: Value,
    pub(crate) current_title: &'a str,
    pub(crate) current_markdown: &'a str,
    pub(crate) updated_at: Timestamp,
}

/// What a decision is about now, beside what the rules say of one that is about something else.
#[derive(Debug, Serialize)]
pub(crate) struct MeantOperation {
    #[serde(flatten)]
    pub(crate) meant: Value,
    pub(crate) operation: OperationAnswer,
}
