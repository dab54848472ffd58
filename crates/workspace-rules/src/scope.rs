//! Reads the scope of an agent.
//!
//! The scope bounds what one loop of an agent may write; it can only be narrower than what an agent may anyway. Its
//! workspace is that of the rule, and a scope that says something else is a fault, not a wish.

use bonded_kernel::{FormKind, FormRow, ID_PATTERN, Scope, WorkspaceId, short};

use super::fault::{Fault, FaultKind, RuleFields};

/// Kinds that a scope may name.
const KINDS_MAX: usize = 64;
/// In bytes; the same bound that notes have for their kind.
const KIND_BYTES_MAX: usize = 64;
/// More in one loop is no bound any more.
const PER_LOOP_MAX: u64 = 1000;

const PER_LOOP: FormKind = FormKind::Whole {
    least: 0,
    most: PER_LOOP_MAX,
};
/// The slugs that [`is_kind`] takes, for editors.
const KIND_PATTERN: &str = "^[a-z][a-z0-9_]*$";

pub(super) const FORM: &[FormRow] = &[
    FormRow::new(
        "workspace_id",
        FormKind::Pattern(ID_PATTERN),
        "The workspace of the rule; no other is allowed",
    ),
    FormRow::new(
        "allowed_note_kinds",
        FormKind::Patterns {
            pattern: KIND_PATTERN,
            members_max: KINDS_MAX,
            bytes_max: KIND_BYTES_MAX,
        },
        "Kinds of notes that the agent may write [default: note, template]",
    ),
    FormRow::new(
        "cross_workspace_writes",
        FormKind::Only(false),
        "Always false: an agent writes in its own workspace only",
    ),
    FormRow::new(
        "max_notes_per_loop",
        PER_LOOP,
        "Notes that it may create in a loop [default: 10]",
    ),
    FormRow::new(
        "max_edits_per_loop",
        PER_LOOP,
        "Notes that it may change in a loop [default: 20]",
    ),
    FormRow::new(
        "strict_scope",
        FormKind::Flag,
        "End the run at its first violation of the scope [default: false]",
    ),
];

/// Reads the scope of an action of a rule of this workspace. The fields are held to the form already.
pub(super) fn read(fields: Option<RuleFields<'_, '_>>, workspace: &WorkspaceId) -> Scope {
    let default = Scope::default_of(*workspace);
    let Some(mut fields) = fields else {
        return default;
    };
    check_workspace(&mut fields, workspace);
    if fields.flag("cross_workspace_writes") == Some(true) {
        fields.fault("cross_workspace_writes", FaultKind::CrossWorkspace);
    }
    let allowed_note_kinds = kinds(&mut fields).unwrap_or(default.allowed_note_kinds);
    let mut per_loop = |field, default| {
        let written = fields.whole_row(field);
        written.map_or(default, |it| u32::try_from(it).unwrap_or(default))
    };
    Scope {
        workspace_id: *workspace,
        allowed_note_kinds,
        cross_workspace_writes: false,
        max_notes_per_loop: per_loop("max_notes_per_loop", default.max_notes_per_loop),
        max_edits_per_loop: per_loop("max_edits_per_loop", default.max_edits_per_loop),
        strict_scope: fields.flag("strict_scope").unwrap_or(false),
    }
}

/// Naming the own workspace is needless and allowed.
fn check_workspace(fields: &mut RuleFields<'_, '_>, workspace: &WorkspaceId) {
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

/// A kind that is named twice counts once.
fn kinds(fields: &mut RuleFields<'_, '_>) -> Option<Vec<String>> {
    let written = fields.texts_row("allowed_note_kinds")?;
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
