//! The scope of an agent: in which workspace it writes, which kinds of notes, and how many in one loop.

use serde::{Deserialize, Serialize};

use super::fault::{Fault, FaultKind};
use super::fields::Fields;
use super::id::WorkspaceId;
use crate::work::short;

/// Kinds that a scope may name.
const KINDS_MAX: usize = 64;
const KIND_BYTES_MAX: usize = 64;
/// More in one loop is no bound any more.
const PER_LOOP_MAX: u64 = 1000;

/// What an agent may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub workspace_id: WorkspaceId,
    pub allowed_note_kinds: Vec<String>,
    /// Always false: a rule that says otherwise is refused.
    #[serde(default)]
    pub cross_workspace_writes: bool,
    pub max_notes_per_loop: u32,
    pub max_edits_per_loop: u32,
    /// Whether a violation ends the run, not only the operation.
    #[serde(default)]
    pub strict_scope: bool,
}

/// An operation that the scope does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", .code.as_str())]
pub struct ScopeViolation {
    pub code: ScopeCode,
    pub message: String,
}

/// The stable code of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ScopeCode {
    ScopeViolation,
    CrossWorkspaceRejected,
}

impl ScopeCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScopeViolation => "SCOPE_VIOLATION",
            Self::CrossWorkspaceRejected => "CROSS_WORKSPACE_REJECTED",
        }
    }
}

impl Scope {
    pub const NOTES_PER_LOOP: u32 = 10;
    pub const EDITS_PER_LOOP: u32 = 20;
    pub const NOTE_KINDS: [&'static str; 2] = ["note", "template"];

    /// What holds where a rule says nothing.
    pub fn usual(workspace_id: WorkspaceId) -> Self {
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

const FIELDS: [&str; 6] = [
    "workspace_id",
    "allowed_note_kinds",
    "cross_workspace_writes",
    "max_notes_per_loop",
    "max_edits_per_loop",
    "strict_scope",
];

/// Reads the scope of an action of a rule of this workspace.
pub(super) fn read(fields: Option<Fields<'_, '_>>, workspace: &WorkspaceId) -> Scope {
    let usual = Scope::usual(*workspace);
    let Some(mut fields) = fields else {
        return usual;
    };
    fields.refuse_unknown(&FIELDS);
    check_workspace(&mut fields, workspace);
    if fields.flag("cross_workspace_writes") == Some(true) {
        fields.fault("cross_workspace_writes", FaultKind::CrossWorkspace);
    }
    let allowed_note_kinds = kinds(&mut fields).unwrap_or(usual.allowed_note_kinds);
    let mut per_loop = |field, usual| {
        let written = fields.whole(field, 0..=PER_LOOP_MAX);
        written.map_or(usual, |it| u32::try_from(it).unwrap_or(usual))
    };
    Scope {
        workspace_id: *workspace,
        allowed_note_kinds,
        cross_workspace_writes: false,
        max_notes_per_loop: per_loop("max_notes_per_loop", usual.max_notes_per_loop),
        max_edits_per_loop: per_loop("max_edits_per_loop", usual.max_edits_per_loop),
        strict_scope: fields.flag("strict_scope").unwrap_or(false),
    }
}

fn check_workspace(fields: &mut Fields<'_, '_>, workspace: &WorkspaceId) {
    let Some(written) = fields.text("workspace_id", 64) else {
        return;
    };
    match written.parse::<WorkspaceId>() {
        Ok(id) if id == *workspace => {}
        Ok(_) => {
            let expected = workspace.to_string();
            fields.fault("workspace_id", FaultKind::OtherWorkspace { expected });
        }
        Err(_) => {
            let found = short(written);
            fields.fault("workspace_id", FaultKind::NotAnId { found });
        }
    }
}

fn kinds(fields: &mut Fields<'_, '_>) -> Option<Vec<String>> {
    let written = fields.texts("allowed_note_kinds", KINDS_MAX, KIND_BYTES_MAX)?;
    let mut kinds = vec![];
    for (at, kind) in written {
        if !is_kind(kind) {
            let found = short(kind);
            let fault = Fault::new(at, FaultKind::NotAKind { found });
            fields.faults().push(fault);
        } else if !kinds.iter().any(|it| it == kind) {
            kinds.push(kind.to_owned());
        }
    }
    Some(kinds)
}

/// The slug that names a kind of note.
fn is_kind(kind: &str) -> bool {
    kind.len() <= KIND_BYTES_MAX
        && kind.starts_with(|c: char| c.is_ascii_lowercase())
        && kind
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
