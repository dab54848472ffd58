//! Notices that rules leave for people, and files that people attach to notes.
//!
//! Both are records that events carry. The id of each is that of the event which made it, so that nothing has to be
//! drawn for them.

use bonded_kernel::{Hash, NoteId, RuleId, RunId};
use serde::{Deserialize, Serialize};

/// How long the name of an attachment is at most.
pub const ATTACHMENT_NAME_CHARS_MAX: usize = 200;
/// How many attachments a note has at most.
pub const ATTACHMENTS_MAX: u64 = 100;

/// Something that a rule wants people to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// One line.
    pub title: String,
    /// What there is to say beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The note of the event that the rule fired on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<NoteId>,
    /// The rule that left it. `decide` sets it, whatever the caller wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<RuleId>,
    /// The run that left it, as `rule_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// A file of a note. Its content is kept beside the store, under its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The note that it belongs to.
    pub note_id: NoteId,
    /// One line without `/` and control characters.
    pub name: String,
    /// As the first bytes say, never as the sender does.
    pub content_type: String,
    /// How long it is.
    pub bytes: u64,
    /// What it holds.
    pub hash: Hash,
}
