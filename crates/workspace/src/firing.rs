//! A rule that fired, and who does what it says.
//!
//! The engine knows no kind of action: it hands a firing to `Actions`, which finds whoever performs that kind. A new
//! kind is a field there and an arm in `performer`.

use std::sync::Arc;

use bonded_kernel::RunId;
use bonded_workspace_rules::{
    Action, AutomationRun, Code, Exclusive, LoopAction, Note, Rule, RunAction, RunEnd, RunMove,
    StoredEvent, WebhookAction, WorkAction, exclusive,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;
use super::plain_actions::PlainActions;

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

/// Who does what rules say; what nobody does fails with a sentence that says so.
#[derive(Clone, Default)]
pub struct Actions {
    /// None where this server does no actions `kjxlkj_agent`.
    pub loops: Option<Arc<dyn Performs<LoopAction>>>,
    /// None where this server does no actions `run`.
    pub runs: Option<Arc<dyn Performs<RunAction>>>,
    /// None where this server does no actions `work`.
    pub work: Option<Arc<dyn Performs<WorkAction>>>,
    /// None where this server does no actions `add_keyword`, `move` and `notify`.
    pub plain: Option<Arc<PlainActions>>,
    /// None where this server does no actions `webhook`.
    pub webhooks: Option<Arc<dyn Performs<WebhookAction>>>,
}

impl std::fmt::Debug for Actions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Actions")
    }
}

impl Actions {
    /// Whoever performs an action of this kind, with the action.
    fn performer<'a>(&'a self, action: &'a Action) -> Option<Box<dyn PerformsOne + 'a>> {
        let plain = self.plain.as_deref();
        match action {
            Action::Loop(action) => performer_of(self.loops.as_deref(), &**action),
            Action::Run(action) => performer_of(self.runs.as_deref(), action),
            Action::Work(action) => performer_of(self.work.as_deref(), action),
            Action::Webhook(action) => performer_of(self.webhooks.as_deref(), action),
            Action::AddKeyword(action) => performer_of(plain.map(|it| it as _), action),
            Action::Move(action) => performer_of(plain.map(|it| it as _), action),
            Action::Notify(action) => performer_of(plain.map(|it| it as _), action),
        }
    }

    /// An action that nobody performs fails the run, so that it does not wait for ever.
    pub(super) async fn run(&self, firing: &Firing, cancel: CancellationToken) -> Performed {
        match self.performer(&firing.action) {
            Some(performer) => performer.run(firing, cancel).await,
            None => {
                let kind = firing.action.kind();
                let message = format!("this server does not perform actions of the kind {kind}");
                Performed::failed(Code::ActionUnavailable, &message)
            }
        }
    }

    /// For runs that were cancelled while nobody drove them.
    pub(super) async fn abandon(&self, action: &Action, run: &RunId, is_alone: bool) {
        if let Some(performer) = self.performer(action) {
            performer.abandon(run, is_alone).await;
        }
    }
}

/// Performs one action, whatever its kind.
trait PerformsOne: Send + Sync {
    fn run<'a>(&'a self, firing: &'a Firing, cancel: CancellationToken)
    -> BoxFuture<'a, Performed>;

    fn abandon<'a>(&'a self, run: &'a RunId, is_alone: bool) -> BoxFuture<'a, ()>;
}

/// An action, and who performs its kind.
struct Performer<'a, A> {
    performs: &'a dyn Performs<A>,
    action: &'a A,
}

impl<A: Sync> PerformsOne for Performer<'_, A> {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        self.performs.run(firing, self.action, cancel)
    }

    fn abandon<'a>(&'a self, run: &'a RunId, is_alone: bool) -> BoxFuture<'a, ()> {
        self.performs.abandon(run, is_alone)
    }
}

/// Ties an action to whoever performs its kind, so that the caller sees no type of action.
fn performer_of<'a, A: Sync>(
    performs: Option<&'a dyn Performs<A>>,
    action: &'a A,
) -> Option<Box<dyn PerformsOne + 'a>> {
    let performer =
        |performs| Box::new(Performer { performs, action }) as Box<dyn PerformsOne + 'a>;
    performs.map(performer)
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
