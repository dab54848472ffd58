//! The action `work`: a plan of work items.
//!
//! The plan changes the tree of a repository, so no two runs work on the same tree at once. All paths are judged by the
//! host.

use bonded_kernel::WorkspaceId;
use serde::Serialize;

use super::path::{read_optional_path, read_path};
use super::rule_action::{Resource, RuleAction};
use crate::fault::RuleFields;
use crate::surroundings::Surroundings;

/// A plan of work items on a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkAction {
    /// The file of the plan.
    pub plan: String,
    /// The tree that is worked on.
    pub repo: String,
    /// Who works, where nothing else names the plan's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_file: Option<String>,
}

impl RuleAction for WorkAction {
    fn request(&self) -> Option<&str> {
        None
    }

    fn exclusive(&self) -> Option<Resource<'_>> {
        Some(Resource::Tree(&self.repo))
    }

    fn prompt_path(&self) -> Option<&str> {
        None
    }
}

const FIELDS: [&str; 4] = ["kind", "plan", "repo", "agent_file"];

/// All fields are read before the missing ones end it, so that every fault is found at once.
pub(super) fn read(
    fields: &mut RuleFields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<WorkAction> {
    fields.refuse_unknown(&FIELDS);
    let plan = read_path(fields, "plan", workspace, host);
    let repo = read_path(fields, "repo", workspace, host);
    let agent_file = read_optional_path(fields, "agent_file", workspace, host);
    Some(WorkAction {
        plan: plan?,
        repo: repo?,
        agent_file,
    })
}
