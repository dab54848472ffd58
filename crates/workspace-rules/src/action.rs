//! What a rule does when it fires: a loop of the agent, a run of an agent file, or a plan of work items.

mod looping;

use bonded_kernel::{Mistake, WorkspaceId};
use serde::Serialize;
use serde_json::Value;

use super::fault::{Fault, FaultKind, Fields};
use super::rule::Surroundings;

pub use looping::{LoopAction, LoopDefaults, MemoryPlace, Pace, ProviderChoice, memory_name};

pub(super) const PATH_BYTES_MAX: usize = 1024;
/// What a person asks of a run.
pub(super) const REQUEST_BYTES_MAX: usize = 64 << 10;
const RUN_TIMEOUT_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1000;

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind")]
pub enum Action {
    #[serde(rename = "kjxlkj_agent")]
    Loop(Box<LoopAction>),
    #[serde(rename = "run")]
    Run(RunAction),
    #[serde(rename = "work")]
    Work(WorkAction),
}

/// A run of an agent file with a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunAction {
    pub agent_file: String,
    pub goal: String,
    /// The directory that its tools work in; that of the agent file where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A plan of work items on a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkAction {
    /// The file of the plan.
    pub plan: String,
    /// The tree that is worked on.
    pub repo: String,
    /// Who works, where the plan's agents are not said elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_file: Option<String>,
}

const KINDS: [&str; 3] = ["kjxlkj_agent", "run", "work"];
const RUN_FIELDS: [&str; 5] = ["kind", "agent_file", "goal", "dir", "timeout_ms"];
const WORK_FIELDS: [&str; 4] = ["kind", "plan", "repo", "agent_file"];

impl Action {
    /// Reads the action of a rule of a workspace. Either all is well, or everything that is not comes back.
    pub fn read(
        written: &Value,
        workspace: &WorkspaceId,
        host: &dyn Surroundings,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = vec![];
        let action = read(written, "", workspace, host, &mut faults);
        match action {
            Some(action) if faults.is_empty() => Ok(action),
            _ => Err(faults),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Loop(_) => KINDS[0],
            Self::Run(_) => KINDS[1],
            Self::Work(_) => KINDS[2],
        }
    }
}

pub(super) fn read(
    written: &Value,
    at: &str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
    faults: &mut Vec<Fault>,
) -> Option<Action> {
    let mut fields = Fields::of(written, at, faults)?;
    match fields.required_text("kind", 256)? {
        "kjxlkj_agent" => {
            let action = looping::read(&mut fields, workspace, host);
            Some(Action::Loop(Box::new(action)))
        }
        "run" => read_run(&mut fields, workspace, host).map(Action::Run),
        "work" => read_work(&mut fields, workspace, host).map(Action::Work),
        other => {
            fields.fault("kind", Mistake::unknown_word(other, KINDS.into_iter()));
            None
        }
    }
}

fn read_run(
    fields: &mut Fields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<RunAction> {
    fields.refuse_unknown(&RUN_FIELDS);
    let agent_file = place(fields, "agent_file", workspace, host);
    let goal = fields.required_text("goal", REQUEST_BYTES_MAX);
    let dir = place_if_given(fields, "dir", workspace, host);
    let timeout_ms = fields.whole("timeout_ms", 1..=RUN_TIMEOUT_MS_MAX);
    Some(RunAction {
        agent_file: agent_file?,
        goal: goal?.to_owned(),
        dir,
        timeout_ms,
    })
}

fn read_work(
    fields: &mut Fields<'_, '_>,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<WorkAction> {
    fields.refuse_unknown(&WORK_FIELDS);
    let plan = place(fields, "plan", workspace, host);
    let repo = place(fields, "repo", workspace, host);
    let agent_file = place_if_given(fields, "agent_file", workspace, host);
    Some(WorkAction {
        plan: plan?,
        repo: repo?,
        agent_file,
    })
}

fn place_if_given(
    fields: &mut Fields<'_, '_>,
    field: &'static str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<String> {
    fields.given(field)?;
    place(fields, field, workspace, host)
}

/// A path that the host lets rules of the workspace use.
fn place(
    fields: &mut Fields<'_, '_>,
    field: &'static str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
) -> Option<String> {
    let written = fields.required_text(field, PATH_BYTES_MAX)?;
    if let Err(why) = host.check_place(workspace, written) {
        fields.fault(field, FaultKind::Told { why });
    }
    Some(written.to_owned())
}
