//! A rule that fired, and who does what it says.

use std::sync::Arc;

use bonded_kernel::RunId;
use bonded_tools::BoxFuture;
use bonded_workspace_rules::{
    Action, AutomationRun, Code, Exclusive, LoopAction, Note, Rule, RunAction, RunEnd, RunMove,
    StoredEvent, WorkAction, exclusive,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;

/// A run of a rule that is to be driven, for the first time or again after a restart.
#[derive(Clone, Debug)]
pub struct Firing {
    pub run: AutomationRun,
    pub rule: Rule,
    pub action: Action,
    /// What set the rule off; a schedule or a person leaves no event.
    pub event: Option<StoredEvent>,
    /// The note that the event is about, as it was after the event.
    pub note: Option<Note>,
}

/// What came of driving a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Performed {
    Ended(RunMove),
    /// It waits for a person; it is taken up again later.
    Waits,
}

impl Performed {
    pub fn succeeded(result_json: Value) -> Self {
        Self::Ended(RunMove::Succeeded(RunEnd {
            result_json,
            ..RunEnd::default()
        }))
    }

    pub fn failed(code: Code, message: &str) -> Self {
        Self::Ended(RunMove::Failed(RunEnd::of(code, message)))
    }

    pub fn cancelled(code: Code, message: &str) -> Self {
        Self::Ended(RunMove::Cancelled(RunEnd::of(code, message)))
    }
}

/// Performs actions of one kind. A run has the id of the firing's run, so that the same one is taken up after a restart.
pub trait Performs<A>: Send + Sync {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a A,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed>;

    /// Ends a run that nobody drives just now. What leaves nothing open while it is not driven has nothing to end.
    fn abandon<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Who does what rules say; what nobody does fails with a sentence that says so.
#[derive(Clone, Default)]
pub struct Actions {
    pub loops: Option<Arc<dyn Performs<LoopAction>>>,
    pub runs: Option<Arc<dyn Performs<RunAction>>>,
    pub work: Option<Arc<dyn Performs<WorkAction>>>,
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Actions")
    }
}

impl Actions {
    pub(super) async fn run(&self, firing: &Firing, cancel: CancellationToken) -> Performed {
        let nobody = || {
            let kind = firing.action.kind();
            let message = format!("this server does not perform actions of the kind {kind}");
            Performed::failed(Code::ActionUnavailable, &message)
        };
        match &firing.action {
            Action::Loop(action) => match &self.loops {
                Some(loops) => loops.run(firing, action, cancel).await,
                None => nobody(),
            },
            Action::Run(action) => match &self.runs {
                Some(runs) => runs.run(firing, action, cancel).await,
                None => nobody(),
            },
            Action::Work(action) => match &self.work {
                Some(work) => work.run(firing, action, cancel).await,
                None => nobody(),
            },
        }
    }

    pub(super) async fn abandon(&self, action: &Action, run: &RunId) {
        let abandoned = match action {
            Action::Loop(_) => self.loops.as_ref().map(|loops| loops.abandon(run)),
            Action::Run(_) => self.runs.as_ref().map(|runs| runs.abandon(run)),
            Action::Work(_) => self.work.as_ref().map(|work| work.abandon(run)),
        };
        if let Some(abandoned) = abandoned {
            abandoned.await;
        }
    }
}

impl Firing {
    /// What the run is asked: what the rule says, and what set it off.
    pub fn request(&self) -> String {
        let asked = match &self.action {
            Action::Loop(action) => action.request.as_deref(),
            Action::Run(action) => Some(action.goal.as_str()),
            Action::Work(_) => None,
        };
        let asked =
            asked.unwrap_or("A rule of the workspace fired. Do what your instructions say for it.");
        let trigger = serde_json::to_string_pretty(&self.trigger()).unwrap_or_default();
        format!("{asked}\n\nWhat set this off:\n{trigger}")
    }

    /// What set the run off, as data.
    pub fn trigger(&self) -> Value {
        let mut trigger = json!({
            "rule_id": self.rule.rule_id,
            "trigger": self.rule.draft.trigger,
            "workspace_id": self.run.workspace_id,
            "triggering_event_id": self.run.triggering_event_id,
        });
        if let Some(event) = &self.event {
            trigger["event_type"] = json!(event.event.name());
        }
        if let Some(note) = &self.note {
            trigger["note"] = json!({
                "note_id": note.note_id,
                "title": note.title,
                "note_kind": note.note_kind,
                "version": note.version,
            });
        }
        trigger
    }

    /// What no two runs may use at once.
    pub(super) fn exclusive(&self, around: &HostSurroundings) -> Vec<Exclusive> {
        let workspace = &self.rule.draft.workspace_id;
        let memory = |name: &str| around.memory_file(workspace, name);
        let tree = |path: &str| around.place(workspace, path).ok();
        exclusive(&self.rule, &self.action, memory, tree)
    }
}
