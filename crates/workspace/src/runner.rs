//! Drives the runs of rules: those that are queued, and those that were under way when the process before this ended.
//!
//! The status in the store is the truth, and `Active` says what this process drives. A run becomes running in the store
//! before it is driven, and its end is written before it is let go of; between both, a crash leaves a running run that
//! nobody drives, which is taken up at the next start. Runs that wait for a person are looked at again when
//! one was judged here, and now and then.

mod recovery;
mod turns;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::store::WorkspaceError;
use bonded_kernel::RunId;
use bonded_workspace_rules::{
    AutomationRun, Change, Code, Fault, Refused, RunMove, RunStatus, never_begins,
};
use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::engine_state::EngineState;
use super::firing::{Firing, Performed};
use bonded_host::panic_message;
use turns::Turns;

/// The most runs that one look takes up.
const RECOVERED_MAX: u64 = 100_000;

/// One for each engine.
pub(super) struct Runner {
    shared: Arc<EngineState>,
    driven: JoinSet<Driven>,
    /// Runs that wait for a person.
    waiting: BTreeMap<RunId, Box<Firing>>,
    turns: Turns,
    /// Where in the events the engine before this one was.
    left_at: u64,
}

/// A run that is not driven any more, and what it is where it waits for a person.
type Driven = (RunId, Option<Box<Firing>>);

/// Whether a run can be driven now.
enum Ready {
    Yes(Box<Firing>),
    /// It never can.
    No(RunMove),
    Gone,
}

impl Runner {
    /// It drives nothing until it runs.
    pub(super) fn new(shared: Arc<EngineState>, left_at: u64) -> Self {
        Self {
            shared,
            driven: JoinSet::new(),
            waiting: BTreeMap::new(),
            turns: Turns::default(),
            left_at,
        }
    }

    /// Never ends. What the process before left is taken up first, so that it does not wait behind the queue.
    pub(super) async fn run(mut self) {
        let shared = self.shared.clone();
        shared.active.clear();
        while let Err(error) = self.recover().await {
            shared.pause("the runs could not be read", &error).await;
        }
        loop {
            if let Err(error) = self.start_queued().await {
                shared.pause("the queue could not be read", &error).await;
                continue;
            }
            let looked = tokio::select! {
                Some(ended) = self.driven.join_next() => {
                    self.note_end(ended.ok());
                    Ok(())
                }
                () = shared.queued.notified() => self.end_cancelled().await,
                () = shared.judged.notified() => self.take_up(RECOVERED_MAX).await,
                // A run that waited for a person may have been judged elsewhere.
                () = shared.nap(None) => self.take_up(RECOVERED_MAX).await,
            };
            if let Err(error) = looked {
                shared.pause("the runs could not be read", &error).await;
            }
        }
    }

    /// A run that waits may have been cancelled; nobody drives it who would notice.
    async fn end_cancelled(&mut self) -> Result<(), WorkspaceError> {
        let store = self.shared.settings.store.clone();
        let waiting: Vec<RunId> = self.waiting.keys().cloned().collect();
        for id in waiting {
            let run = store.run(id.clone()).await?;
            if run.is_some_and(|run| !run.status.has_ended()) {
                continue;
            }
            if let Some(firing) = self.waiting.remove(&id) {
                self.abandon(&firing).await;
            }
        }
        Ok(())
    }

    /// Ends a run that nobody drives, with what it uses alone in hand, unless another run is driven with that.
    async fn abandon(&self, firing: &Firing) {
        let EngineState {
            active, settings, ..
        } = &*self.shared;
        let id = &firing.run.run_id;
        let exclusive = firing.exclusive(&settings.surroundings);
        let held = active.begin(&firing.run, exclusive, "");
        let actions = &settings.actions;
        actions.abandon(&firing.action, id, held.is_some()).await;
        if held.is_some() {
            active.end(id);
        }
    }

    /// A task that panicked has no result here; `drive` catches panics of actions, so that there is none.
    fn note_end(&mut self, ended: Option<Driven>) {
        match ended {
            Some((run, Some(firing))) => {
                self.waiting.insert(run, firing);
            }
            Some((run, None)) => {
                self.waiting.remove(&run);
            }
            None => {}
        }
    }

    /// Begins what is queued. Whoever has fewer runs under way comes first, and whoever has none always begins one: the
    /// slow runs of others hold up nobody. Of one person's rules each has its turn, however many runs another has queued.
    async fn start_queued(&mut self) -> Result<(), WorkspaceError> {
        let shared = self.shared.clone();
        let most = shared.settings.concurrent_runs;
        if most == 0 {
            return Ok(());
        }
        // No more runs of a rule can begin than there is room for. One that never can makes room for the next.
        let mut has_ended = true;
        while has_ended {
            has_ended = false;
            let queued = shared.store().queued_by_rule(most as u64).await?;
            for (whose, run) in self.turns.order(queued, &shared.active) {
                let is_room = shared.active.count() < most || shared.active.count_of(&whose) == 0;
                if is_room {
                    has_ended |= self.start(run, &whose).await?;
                }
            }
        }
        Ok(())
    }

    /// Begins to drive a run, unless it has to wait for another. Says whether it ended at once instead.
    async fn start(&mut self, run: AutomationRun, whose: &str) -> Result<bool, WorkspaceError> {
        let firing = match ready(&self.shared, run.clone()).await? {
            Ready::Yes(firing) => firing,
            Ready::No(end) => return move_run(&self.shared, &run.run_id, end).await,
            Ready::Gone => return Ok(false),
        };
        let exclusive = firing.exclusive(&self.shared.settings.surroundings);
        let Some(cancel) = self.shared.active.begin(&run, exclusive, whose) else {
            return Ok(false);
        };
        let begun = match run.status {
            RunStatus::Queued => move_run(&self.shared, &run.run_id, RunMove::Running).await,
            RunStatus::Running
            | RunStatus::Succeeded
            | RunStatus::Failed
            | RunStatus::Cancelled => self.is_under_way(&firing).await,
        };
        if !matches!(begun, Ok(true)) {
            self.shared.active.end(&run.run_id);
            return begun.map(|_| false);
        }
        self.turns.had(whose, run.rule_id);
        self.waiting.remove(&run.run_id);
        let shared = self.shared.clone();
        self.driven.spawn(drive(shared, firing, cancel));
        Ok(false)
    }

    /// Somebody may have cancelled a run after it was listed and before its driver could be told; or it has come to its
    /// end meanwhile, and there is nothing left to abandon.
    async fn is_under_way(&self, firing: &Firing) -> Result<bool, WorkspaceError> {
        let id = &firing.run.run_id;
        let run = self.shared.store().run(id.clone()).await?;
        let status = run.map(|run| run.status);
        if matches!(status, None | Some(RunStatus::Cancelled)) {
            let actions = &self.shared.settings.actions;
            actions.abandon(&firing.action, id, true).await;
        }
        Ok(status.is_some_and(|status| !status.has_ended()))
    }
}

/// Drives one run and writes down what came of it.
/// A panic in an action fails its run and nothing else. An end that cannot be written is tried again until it can:
/// otherwise the run would be driven again after a restart although it had ended.
async fn drive(shared: Arc<EngineState>, firing: Box<Firing>, cancel: CancellationToken) -> Driven {
    let run = firing.run.run_id.clone();
    let actions = &shared.settings.actions;
    let driving = AssertUnwindSafe(actions.run(&firing, cancel.clone())).catch_unwind();
    let performed = driving.await.unwrap_or_else(|panic| {
        let message = format!("the run panicked: {}", panic_message(&*panic));
        Performed::failed(Code::InternalError, &message)
    });
    let mut waits = None;
    match performed {
        Performed::Waits if cancel.is_cancelled() => {
            actions.abandon(&firing.action, &run, true).await;
        }
        Performed::Waits => waits = Some(firing),
        Performed::Ended(end) => {
            while let Err(error) = move_run(&shared, &run, end.clone()).await {
                let what = format!("the end of run {run} could not be written");
                shared.pause(&what, &error).await;
            }
        }
    }
    shared.active.end(&run);
    (run, waits)
}

/// Moves a run on. `false` where it cannot move so, because somebody else was faster.
async fn move_run(shared: &EngineState, run: &RunId, to: RunMove) -> Result<bool, WorkspaceError> {
    let change = Change::MoveRun {
        run_id: run.clone(),
        to,
    };
    match shared.write(change).await {
        Ok(written) => Ok(!written.events.is_empty()),
        Err(WorkspaceError::Refused(Refused::RunCannotMove { .. })) => Ok(false),
        Err(WorkspaceError::Refused(refused)) => {
            shared.tell(&format!("run {run} cannot change its state: {refused}"));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// What is to be known before a run is driven, and whether it may be at all.
/// The rule is read now: what was changed since it fired counts. A run that has begun goes on even if its rule was
/// disabled meanwhile.
async fn ready(shared: &EngineState, run: AutomationRun) -> Result<Ready, WorkspaceError> {
    let stored = shared.store().rule(run.rule_id).await?;
    let Some(stored) = stored else {
        return Ok(Ready::Gone);
    };
    let is_new = run.status == RunStatus::Queued;
    let end = never_begins(&run, &stored.rule, stored.is_deleted);
    if let Some(end) = end.filter(|_| is_new) {
        return Ok(Ready::No(end));
    }
    let rule = stored.rule;
    let action = match rule.draft.action(&*shared.settings.surroundings) {
        Ok(action) => action,
        Err(faults) => {
            let why: Vec<String> = faults.iter().map(Fault::to_string).collect();
            return Ok(no(Performed::failed(Code::RuleInvalid, &why.join("; "))));
        }
    };
    let event = shared.store().event(run.triggering_event_id).await?;
    // What happened in another workspace is not for this one's prompt.
    let event = event.filter(|event| event.workspace_id == run.workspace_id);
    let place = event
        .as_ref()
        .and_then(|it| Some((it.note_id?, it.version?)));
    let note = match place {
        Some((note, version)) => shared.store().note_at(note, version).await?,
        None => None,
    };
    let whose = shared.store().maker_of(run.workspace_id).await?;
    Ok(Ready::Yes(Box::new(Firing {
        run,
        rule,
        action,
        event,
        note,
        whose: whose.unwrap_or_default(),
    })))
}

/// For ends that are already decided.
fn no(performed: Performed) -> Ready {
    match performed {
        Performed::Ended(end) => Ready::No(end),
        Performed::Waits => Ready::Gone,
    }
}
