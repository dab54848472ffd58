//! Paths in an action: each is one that the host lets rules of the workspace use.
//!
//! The check is made when the rule is saved, so that its author hears of a mistake at once. A path is returned even
//! where the host refused it: the fault is what stops the rule.

use bonded_kernel::WorkspaceId;

use crate::fault::{FaultKind, RuleFields};
use crate::surroundings::Surroundings;

/// Longer texts are faults before the host is asked about them.
pub(super) const PATH_BYTES_MAX: usize = 1024;

/// A path that the host lets rules of the workspace use.
pub(super) fn read_path(
    fields: &mut RuleFields<'_, '_>,
    field: &'static str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.required_text(field, PATH_BYTES_MAX)?;
    if let Err(why) = host.check_place(workspace, written) {
        fields.fault(field, FaultKind::Reason { why });
    }
    Some(written.to_owned())
}

/// The same where the action may leave it out.
/// An absent field is no fault; one that is given is judged like any other.
pub(super) fn read_optional_path(
    fields: &mut RuleFields<'_, '_>,
    field: &'static str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<String> {
    fields.given(field)?;
    read_path(fields, field, workspace, host)
}
