//! Paths in an action: each is one that the host lets rules of the workspace use.
//!
//! The check is made when the rule is saved, so that its author hears of a mistake at once. A path is returned even
//! where the host refused it: the fault is what stops the rule.

use bonded_kernel::{FormKind, WorkspaceId};

use crate::fault::{FaultKind, RuleFields};
use crate::surroundings::Surroundings;

/// Longer texts are faults before the host is asked about them.
pub(super) const PATH_BYTES_MAX: usize = 1024;
/// A path, as forms have it.
pub(super) const PATH: FormKind = FormKind::Text {
    bytes_max: PATH_BYTES_MAX,
};

/// A path that the host lets rules of the workspace use. Whether it must be there, the form of the action says.
pub(super) fn read_path(
    fields: &mut RuleFields<'_, '_>,
    field: &'static str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.text_row(field)?;
    if let Err(why) = host.check_place(workspace, written) {
        fields.fault(field, FaultKind::Reason { why });
    }
    Some(written.to_owned())
}
