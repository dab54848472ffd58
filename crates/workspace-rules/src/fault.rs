//! What is wrong with something that a person wrote: where, and what to do about it.
//!
//! Faults are for people who mend what they wrote, so each says what would be right. They are collected, never thrown
//! one by one: a rule with five mistakes is sent back once.

use std::fmt;

use bonded_kernel::{Mistake, ReadFault};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// One thing that is wrong. All of them are found at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A JSON pointer into what was written.
    pub at: String,
    /// What is wrong there, as a sentence.
    pub kind: FaultKind,
}

impl Fault {
    /// For faults that are no matter of a single field, such as those of conditions.
    pub(super) fn new(at: impl Into<String>, kind: impl Into<FaultKind>) -> Self {
        Self {
            at: at.into(),
            kind: kind.into(),
        }
    }
}

impl ReadFault for Fault {
    type Kind = FaultKind;

    fn new(at: String, kind: FaultKind) -> Self {
        Self { at, kind }
    }
}

/// The fields of something that a person wrote about a workspace.
pub(super) type RuleFields<'a, 'f> = bonded_kernel::Fields<'a, 'f, Fault>;

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => write!(f, "at the top: {}", self.kind),
            at => write!(f, "{at}: {}", self.kind),
        }
    }
}

/// As a client is shown it: the place and the sentence.
impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = serializer.serialize_struct("Fault", 2)?;
        shown.serialize_field("at", &self.at)?;
        shown.serialize_field("message", &self.kind.to_string())?;
        shown.end()
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// What may be wrong with anything that people write.
    #[error(transparent)]
    Mistake(#[from] Mistake),
    /// Only one word is possible here, and it is another.
    #[error("must be {expected:?}, not {found:?}")]
    NotTheWord {
        expected: &'static str,
        found: String,
    },
    /// The text is no id.
    #[error("must be a UUID such as 3f2b0c9e-5a51-4f0e-9d57-0c1f4a5f9b1e, not {found:?}")]
    NotAnId { found: String },
    /// The scope of an action, or a change of a rule, names another workspace than the rule's own.
    #[error(
        "must be the workspace of the rule, {expected}: an agent never writes in another one; leave it out"
    )]
    OtherWorkspace { expected: String },
    /// The scope asks for what no agent may do.
    #[error("must be false: an agent never writes outside of its workspace")]
    CrossWorkspace,
    /// The name of a memory could lead elsewhere, or is that of a file of the server.
    #[error(
        "must be the name of a memory of this workspace, such as inbox.json (letters, digits, '-', '_' and '.'), not {found:?}; no path, and no file of the server"
    )]
    NotAMemory { found: String },
    /// The text is no slug for a kind of note.
    #[error("must be a kind of note such as note or meeting_minutes, not {found:?}")]
    NotAKind { found: String },
    /// The address of a provider cannot be used, or would carry a secret.
    #[error(
        "must begin with http:// or https:// and hold neither a user name nor a password, not {found:?}"
    )]
    NotAnUrl { found: String },
    /// A rule that fires by the clock says no time.
    #[error("a rule with the trigger automation_schedule.cron needs a schedule with a cron line")]
    NoSchedule,
    /// A schedule would never be looked at.
    #[error("only rules with the trigger automation_schedule.cron have a schedule, not {trigger}")]
    NeedlessSchedule { trigger: &'static str },
    /// The action changes a note, and there is none, or none that can be changed.
    #[error(
        "{kind} changes the note of the event, and with the trigger {trigger} it cannot: {why}"
    )]
    NoNote {
        kind: &'static str,
        trigger: &'static str,
        why: &'static str,
    },
    /// The condition nests deeper than is read.
    #[error("conditions nest at most {most} deep")]
    TooDeep { most: usize },
    /// The condition has more parts than are read; what follows is not looked at.
    #[error("a condition has at most {most} parts")]
    TooManyParts { most: usize },
    /// The operation makes no sense for the field, so the condition could never hold.
    #[error("{field} cannot be compared by {op}: {why}")]
    NotComparable {
        field: String,
        op: &'static str,
        why: &'static str,
    },
    /// The pattern is none, or weighs too much once it is compiled.
    #[error("is not a valid pattern: {why}")]
    BadPattern { why: String },
    /// What has a sentence of its own, such as what only the host can know.
    #[error("{why}")]
    Reason { why: String },
}
