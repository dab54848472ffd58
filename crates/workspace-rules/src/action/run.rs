//! The action `run`: a run of an agent file.
//!
//! The agent file says what the run may do and under which guarantees; the rule only names the file, the goal and the
//! directory. Both paths are judged by the host.

use bonded_kernel::{FormKind, FormRow, Measure, WorkspaceId};
use serde::Serialize;

use super::path::{PATH, read_path};
use super::rule_action::{ActionNeeds, KIND, NeedsNote, REQUEST, RuleAction};
use crate::fault::RuleFields;
use crate::surroundings::Surroundings;

/// A week, in milliseconds.
const RUN_TIMEOUT_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1000;

/// A run of an agent file with a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunAction {
    /// The path of the agent file, which the host lets rules of the workspace use.
    pub agent_file: String,
    /// What the run is to do.
    pub goal: String,
    /// The directory that its tools work in; that of the agent file where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The server's own limit where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl RuleAction for RunAction {
    const IS_ASKED: bool = true;

    fn needs(&self) -> ActionNeeds<'_> {
        ActionNeeds {
            request: Some(&self.goal),
            exclusive: None,
            prompt_path: None,
            note: NeedsNote::No,
            is_signed: false,
        }
    }

    fn words(&self) -> String {
        format!("run the agent of {:?}", self.agent_file)
    }
}

pub(super) const FORM: &[FormRow] = &[
    KIND,
    FormRow::new(
        "agent_file",
        PATH,
        "The agent file, in a directory that the server allows rules to use",
    )
    .required(),
    FormRow::new("goal", REQUEST, "What the run is to do").required(),
    FormRow::new(
        "dir",
        PATH,
        "Where its tools work [default: the directory of the agent file]",
    ),
    FormRow::new(
        "timeout_ms",
        FormKind::Measured {
            measure: Measure::Ms,
            least: 1,
            most: RUN_TIMEOUT_MS_MAX,
        },
        "Time limit, such as 10m; a number counts milliseconds [default: the server's]",
    ),
];

/// All four fields are read before the missing ones end it, so that every fault is found at once.
pub(super) fn read(
    fields: &mut RuleFields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<RunAction> {
    fields.hold_to(FORM);
    let agent_file = read_path(fields, "agent_file", workspace, host);
    let goal = fields.text_row("goal");
    let dir = read_path(fields, "dir", workspace, host);
    let timeout_ms = fields.measured_row("timeout_ms");
    Some(RunAction {
        agent_file: agent_file?,
        goal: goal?.to_owned(),
        dir,
        timeout_ms,
    })
}
