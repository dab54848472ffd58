//! A rule that fired, and what comes of doing what it says.

use bonded_kernel::RunId;
use bonded_workspace_rules::{
    Action, AutomationRun, Code, Exclusive, Note, Rule, RunEnd, RunMove, StoredEvent, exclusive,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;

/// A run of a rule that is to be driven, for the first time or again after a restart.
#[derive(Clone, Debug)]
pub struct Firing {
    /// As it stood when it was taken up.
    pub run: AutomationRun,
    /// As it is when the run is driven, not as it was when the rule fired.
    pub rule: Rule,
    /// Read from the rule against the server as it is configured.
    pub action: Action,
    /// What set the rule off; a schedule or a person leaves no event.
    pub event: Option<StoredEvent>,
    /// The note that the event is about, as it was after the event.
    pub note: Option<Note>,
    /// Who made the workspace, as events name them: whose runs take turns with those of others.
    pub whose: String,
}

/// What came of driving a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Performed {
    /// How it ended.
    Ended(RunMove),
    /// It waits for a person; it is taken up again later.
    Waits,
}

impl Performed {
    /// The run reached its end with this result.
    pub fn succeeded(result_json: Value) -> Self {
        Self::Ended(RunMove::Succeeded(RunEnd {
            result_json,
            ..RunEnd::default()
        }))
    }

    /// The run came to nothing.
    pub fn failed(code: Code, message: &str) -> Self {
        Self::Ended(RunMove::Failed(RunEnd::of(code, message)))
    }

    /// The run was ended before it came to anything.
    pub fn cancelled(code: Code, message: &str) -> Self {
        Self::Ended(RunMove::Cancelled(RunEnd::of(code, message)))
    }
}

/// Performs actions of one kind. A run has the id of the firing's run, so that the same one is taken up after a restart.
pub trait Performs<A>: Send + Sync {
    /// Drives the run until it ends, waits for a person, or is cancelled.
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a A,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed>;

    /// Ends a run that nobody drives just now. What leaves nothing open while it is not driven has nothing to end.
    /// Where it is not alone, another run is driven with what this one used alone: that is not touched then.
    fn abandon<'a>(&'a self, _run: &'a RunId, _is_alone: bool) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Firing {
    /// What the run is asked: by the person who launched it or else by the rule, and what set it off.
    /// The trigger is added as JSON: ids and a title, never the text of the note, which an agent has to read with its
    /// tools.
    pub fn request(&self) -> String {
        let asked = self.run.request.as_deref();
        let request = asked
            .or_else(|| self.action.request())
            .unwrap_or("A rule of the workspace fired. Do what your instructions say for it.");
        let trigger = serde_json::to_string_pretty(&self.trigger()).unwrap_or_default();
        format!("{request}\n\nWhat set this off:\n{trigger}")
    }

    /// What set the run off, as data.
    /// The title, and what another server sent, were written by somebody else than the author of the rule; they are data
    /// for the agent, not instructions.
    pub fn trigger(&self) -> Value {
        let mut trigger = json!({
            "rule_id": self.rule.rule_id,
            "trigger": self.rule.draft.trigger,
            "workspace_id": self.run.workspace_id,
            "triggering_event_id": self.run.triggering_event_id,
        });
        if let Some(event) = &self.event {
            trigger["event_type"] = json!(event.event.name());
            if let Some((_, body)) = event.event.hook() {
                trigger["body"] = body.clone();
            }
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
