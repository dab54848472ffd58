//! The scope of an agent is held against every operation.

use bonded_kernel::{Scope, ScopeCode};

use crate::rules_common::{OTHER_WORKSPACE, workspace};

#[test]
fn notes_are_made_up_to_the_limit_and_of_allowed_kinds_only() {
    let scope = Scope::default_of(workspace());
    let rows = [
        ("note", 0, None),
        ("note", 9, None),
        ("note", 10, Some("max_notes_per_loop")),
        ("template", 0, None),
        ("summary", 0, Some("allowed: note, template")),
    ];
    for (kind, made, refused) in rows {
        let checked = scope.check_create(kind, made);
        let violation = checked.err();
        assert_eq!(violation.is_some(), refused.is_some(), "{kind} {made}");
        if let (Some(violation), Some(why)) = (violation, refused) {
            assert_eq!(violation.code, ScopeCode::ScopeViolation);
            assert!(violation.to_string().starts_with("SCOPE_VIOLATION: "));
            assert!(violation.message.contains(why), "{violation}");
        }
    }
}

#[test]
fn notes_are_changed_in_the_own_workspace_only_and_up_to_the_limit() {
    let scope = Scope::default_of(workspace());
    let other = OTHER_WORKSPACE.parse().expect("it is an id");
    let rows = [
        (workspace(), "note", 19, None),
        (workspace(), "note", 20, Some(ScopeCode::ScopeViolation)),
        (workspace(), "summary", 0, Some(ScopeCode::ScopeViolation)),
        (other, "note", 0, Some(ScopeCode::CrossWorkspaceRejected)),
    ];
    for (note_workspace, kind, edited, code) in rows {
        let checked = scope.check_update(&note_workspace, kind, edited);
        assert_eq!(checked.err().map(|it| it.code), code, "{kind} {edited}");
    }
}
