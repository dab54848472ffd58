//! Who does what rules say.
//!
//! The engine knows no kind of action: it hands a firing to `Actions`, which finds whoever performs that kind. A new
//! kind is a field there and an arm in `performer`.

use std::sync::Arc;

use bonded_kernel::RunId;
use bonded_workspace_rules::{Action, Code, LoopAction, RunAction, WebhookAction, WorkAction};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::firing::{Firing, Performed, Performs};
use super::plain_actions::PlainActions;

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
