//! The action `work`: a plan of work items.
//!
//! The plan changes the tree of a repository, so no two runs work on the same tree at once. All paths are judged by the
//! host.

use bonded_kernel::{FormRow, WorkspaceId};
use serde::Serialize;

use super::path::{PATH, read_path};
use super::rule_action::{ActionNeeds, KIND, NeedsNote, Resource, RuleAction};
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
    const IS_ASKED: bool = false;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: None,
            exclusive: Some(Resource::Tree(&self.repo)),
            prompt_path: None,
            note: NeedsNote::No,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        format!("run the plan {:?} on {:?}", self.plan, self.repo)
    }
}

pub(super) const FORM: &[FormRow] = &[
    KIND,
    FormRow::new("plan", PATH, "The file of the plan").required(),
    FormRow::new("repo", PATH, "The tree that the plan changes").required(),
    FormRow::new(
        "agent_file",
        PATH,
        "The agent that works on the items [default: that of the server]",
    ),
];

/// All fields are read before the missing ones end it, so that every fault is found at once.
pub(super) fn read(
    fields: &mut RuleFields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<WorkAction> {
    fields.hold_to(FORM);
    let plan = read_path(fields, "plan", workspace, host);
    let repo = read_path(fields, "repo", workspace, host);
    let agent_file = read_path(fields, "agent_file", workspace, host);
    Some(WorkAction {
        plan: plan?,
        repo: repo?,
        agent_file,
    })
}
