//! The scope of an agent: in which workspace it writes, which kinds of notes, and how many in one loop.

use serde::{Deserialize, Serialize};

use crate::reading::short;
use crate::uuid::WorkspaceId;

/// What an agent may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The only workspace whose notes it may touch.
    pub workspace_id: WorkspaceId,
    /// The kinds of notes that it may make and change; others are refused.
    pub allowed_note_kinds: Vec<String>,
    /// Always false: a rule that says otherwise is refused.
    #[serde(default)]
    pub cross_workspace_writes: bool,
    /// How many notes may be made in one loop; what is beyond waits for the next.
    pub max_notes_per_loop: u32,
    /// How many notes may be changed in one loop.
    pub max_edits_per_loop: u32,
    /// Whether a violation ends the run, not only the operation.
    #[serde(default)]
    pub strict_scope: bool,
}

/// An operation that the scope does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", .code.as_str())]
pub struct ScopeViolation {
    /// The stable name that programs go by.
    pub code: ScopeCode,
    /// What the model is shown, with what it may do instead.
    pub message: String,
}

/// The stable code of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ScopeCode {
    /// Too many, or a kind of note that is not allowed.
    ScopeViolation,
    /// The note belongs to another workspace.
    CrossWorkspaceRejected,
}

impl ScopeCode {
    /// As it stands in messages and in `error_code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScopeViolation => "SCOPE_VIOLATION",
            Self::CrossWorkspaceRejected => "CROSS_WORKSPACE_REJECTED",
        }
    }
}

impl Scope {
    /// The default of `max_notes_per_loop`.
    pub const NOTES_PER_LOOP: u32 = 10;
    /// The default of `max_edits_per_loop`.
    pub const EDITS_PER_LOOP: u32 = 20;
    /// The default of `allowed_note_kinds`.
    pub const NOTE_KINDS: [&'static str; 2] = ["note", "template"];

    /// What holds where a rule says nothing.
    pub fn default_of(workspace_id: WorkspaceId) -> Self {
        Self {
            workspace_id,
            allowed_note_kinds: Self::NOTE_KINDS.map(str::to_owned).to_vec(),
            cross_workspace_writes: false,
            max_notes_per_loop: Self::NOTES_PER_LOOP,
            max_edits_per_loop: Self::EDITS_PER_LOOP,
            strict_scope: false,
        }
    }

    /// Whether one more note of this kind may be made in a loop that has made some.
    pub fn check_create(&self, kind: &str, made_so_far: u32) -> Result<(), ScopeViolation> {
        self.check_kind(kind)?;
        let most = self.max_notes_per_loop;
        match made_so_far < most {
            true => Ok(()),
            false => Err(violation(format!(
                "at most {most} notes are made in one loop (max_notes_per_loop); make the rest in the next"
            ))),
        }
    }

    /// Whether a note of this workspace and kind may be changed in a loop that has changed some.
    pub fn check_update(
        &self,
        note_workspace: &WorkspaceId,
        kind: &str,
        edited_so_far: u32,
    ) -> Result<(), ScopeViolation> {
        if *note_workspace != self.workspace_id {
            let message = "the note belongs to another workspace and was not changed".into();
            let code = ScopeCode::CrossWorkspaceRejected;
            return Err(ScopeViolation { code, message });
        }
        self.check_kind(kind)?;
        self.check_edits(edited_so_far)
    }

    /// The part of [`Self::check_update`] that needs no note.
    pub fn check_edits(&self, edited_so_far: u32) -> Result<(), ScopeViolation> {
        let most = self.max_edits_per_loop;
        match edited_so_far < most {
            true => Ok(()),
            false => Err(violation(format!(
                "at most {most} notes are changed in one loop (max_edits_per_loop); change the rest in the next"
            ))),
        }
    }

    fn check_kind(&self, kind: &str) -> Result<(), ScopeViolation> {
        if self.allowed_note_kinds.iter().any(|it| it == kind) {
            return Ok(());
        }
        let allowed = self.allowed_note_kinds.join(", ");
        let kind = short(kind);
        Err(violation(format!(
            "notes of the kind {kind:?} are outside of the scope; allowed: {allowed}"
        )))
    }
}

fn violation(message: String) -> ScopeViolation {
    ScopeViolation {
        code: ScopeCode::ScopeViolation,
        message,
    }
}
