//! Driving: a run is begun or taken up, given to the driver, and brought to its end.
//!
//! Whoever drives a run holds its claim in the store. Tools are opened before the first entry is
//! written, so that a run which cannot have its tools never begins. A panic on the way ends the run and
//! not the process.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bonded_kernel::{self as kernel, Entry, Input, Run, RunId, RunStarted, Text};
use bonded_tools::Registry;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join3};
use tokio_util::sync::CancellationToken;

use crate::client_results::ClientResults;
use crate::counter::Counter;
use crate::driver::{Driver, GoalTexts, MemoryLink, panic_message};
use crate::error::HostError;
use crate::host::{Goal, Host, PROGRAM};
use crate::load::load_run_seen;
use crate::watch::WatchedRun;
use crate::{prices, windows};

/// Whether there is anything to drive: the run has neither ended, nor does it wait for somebody.
fn may_go_on(run: &Run, results: &ClientResults) -> bool {
    run.termination().is_none() && run.waiting_call().is_none() && !results.are_awaited(run)
}

impl Host {
    /// Starts a run under an id that a caller chose, or takes up the one that has it already, and drives
    /// it to its end.
    ///
    /// The same goal must be given again: another one under the same id is refused, because the answer
    /// would be to another question.
    pub async fn run_as(
        &self,
        id: RunId,
        goal: Goal,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        if self.store.head(&id).await?.is_none() {
            return self.run(id, goal, cancel).await;
        }
        let mask = self.secrets.mask_of(&goal.config);
        let (text, _) = GoalTexts::new(goal.text, goal.system, &mask).kept();
        let results = ClientResults::default();
        self.go_on(&id, Some(&text), results, cancel).await
    }

    /// Starts a run under a new id and drives it to its end.
    ///
    /// The servers are asked for their windows and prices while the tools open, since both wait for others.
    pub async fn run(
        &self,
        id: RunId,
        goal: Goal,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let (goal, registry) = self.equip(goal).await?;
        let driving = self.begin(&id, goal, registry, cancel);
        self.guard(&id, driving).await
    }

    /// The first entry of a run that another process shall drive: what it is bound to, and nothing begun.
    ///
    /// The log is all that the other process has: a goal with a secret in it is refused, since the log keeps the secret's
    /// name alone.
    pub async fn first_entry(&self, id: &RunId, goal: Goal) -> Result<Entry, HostError> {
        let (goal, registry) = self.equip(goal).await?;
        let (mut started, _, asked) = self.freeze(goal, &registry);
        started.queued = true;
        if asked.unless_kept().is_some() {
            return Err(HostError::SecretGoal { run: id.clone() });
        }
        let (_, step) = kernel::start(id.clone(), self.clock.now(), started);
        let first = step.entries().first();
        Ok(first.expect("a run begins with an entry").clone())
    }

    /// Opens the tools and asks for what the servers say of themselves.
    async fn equip(&self, mut goal: Goal) -> Result<(Goal, Arc<Registry>), HostError> {
        let windows = windows::ask(&*self.transport, &goal.config);
        let prices = prices::ask(&*self.transport, &goal.config);
        let opened = self.tools.open(&goal.config);
        // The servers first: they answer while the tools are opened.
        let (windows, prices, registry) = join3(windows, prices, opened).await;
        let registry = registry?;
        prices::take(&mut goal.config, prices, self.clock.now())?;
        for (target, window) in goal.config.targets.iter_mut().zip(windows) {
            windows::take(target, window);
        }
        Ok((goal, registry))
    }

    /// What the log will say that the run is bound to.
    fn freeze(&self, goal: Goal, registry: &Registry) -> (RunStarted, Counter, GoalTexts) {
        let counter = Counter::of(&goal.config);
        let catalog = registry.catalog().clone();
        let mask = self.secrets.mask_of(&goal.config);
        let asked = GoalTexts::new(goal.text, goal.system, &mask);
        let (text, system) = asked.kept();
        let mut started = RunStarted::new(text, system, goal.config, catalog);
        started.program = Some(PROGRAM.into());
        started.counted = counter.seed(&started, registry.catalog());
        (started, counter, asked)
    }

    /// What a run is made of is put on the heap outside of any future: thousands of runs may wait.
    fn begin<'a>(
        &'a self,
        id: &RunId,
        goal: Goal,
        registry: Arc<Registry>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Run, HostError>> {
        let (started, counter, asked) = self.freeze(goal, &registry);
        let (run, step) = kernel::start(id.clone(), self.clock.now(), started);
        let driver = Driver {
            host: self,
            run,
            registry,
            cancel,
            counter,
            memory: MemoryLink::default(),
            asked: asked.unless_kept(),
            results: Arc::default(),
            ahead_ms: 0,
            watched: self.watch.as_ref().map(|watch| watch.begin()),
        };
        Box::pin(driver.drive(step))
    }

    /// Takes a run up that no living process drives, and drives it to its end, or until it waits for a
    /// person. A run that has ended, or that waits, is returned as it is; one that is for a work item is refused.
    pub async fn resume(&self, id: &RunId, cancel: CancellationToken) -> Result<Run, HostError> {
        let results = ClientResults::default();
        self.go_on(id, None, results, cancel).await
    }

    /// Takes a run up with what its client says that calls returned, and drives it on. A run that waits for other results
    /// is returned as it is.
    pub async fn answer(
        &self,
        id: &RunId,
        results: ClientResults,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.go_on(id, None, results, cancel).await
    }

    /// The claim comes first: a log that is read before it may have gone on when the claim is made.
    ///
    /// Whatever stands in the way after the claim releases it again.
    async fn go_on(
        &self,
        id: &RunId,
        goal: Option<&Text>,
        mut results: ClientResults,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.store.claim(id).await?;
        let mut watched = self.watch.as_ref().map(|watch| watch.begin());
        let run = match Box::pin(self.load_to_drive(id, goal, &mut watched)).await {
            Ok(run) if may_go_on(&run, &results) => run,
            done_or_waiting_or_unusable => {
                self.store.release(id).await?;
                return done_or_waiting_or_unusable;
            }
        };
        let registry = match self.tools.open(run.config()).await {
            // What the log says the tools are is what the model was told.
            Ok(registry) => registry.pinned_to(run.catalog()),
            Err(error) => {
                self.store.release(id).await?;
                return Err(error);
            }
        };
        results.waited_ms = self.clock.now() - run.last_at();
        let driving = self.take_up(run, registry, results, cancel, watched);
        self.guard(id, driving).await
    }

    /// A clock that was set back since the last entry is made up for, so that time in the log goes on.
    fn take_up<'a>(
        &'a self,
        mut run: Run,
        registry: Arc<Registry>,
        results: ClientResults,
        cancel: CancellationToken,
        watched: Option<Box<dyn WatchedRun>>,
    ) -> BoxFuture<'a, Result<Run, HostError>> {
        let now = self.clock.now();
        let ahead_ms = run.last_at() - now;
        let step = kernel::step(&mut run, now.plus(ahead_ms), Input::Resumed);
        let counter = Counter::of(run.config());
        let driver = Driver {
            host: self,
            run,
            registry,
            cancel,
            counter,
            memory: MemoryLink::default(),
            asked: None,
            results: Arc::new(results),
            ahead_ms,
            watched,
        };
        Box::pin(driver.drive(step))
    }

    /// A run for a work item belongs to its plan, which would not know what came of it.
    async fn load_to_drive(
        &self,
        id: &RunId,
        goal: Option<&Text>,
        watched: &mut Option<Box<dyn WatchedRun>>,
    ) -> Result<Run, HostError> {
        let see = |part: &[Entry]| {
            if let Some(watched) = watched {
                watched.past(part);
            }
        };
        let run = load_run_seen(&*self.store, id, see).await?;
        if let (None, Some(item), None) = (goal, &run.config().item, run.termination()) {
            return Err(HostError::OfPlan {
                run: id.clone(),
                plan: item.plan.clone(),
            });
        }
        if goal.is_some_and(|goal| run.goal() != goal) {
            return Err(HostError::OtherGoal { run: id.clone() });
        }
        Ok(run)
    }

    /// A panic while a run is driven ends that run as fatal, and the process goes on.
    ///
    /// The log is written to by a new load of the run: what the panicking driver had in memory is not
    /// used.
    async fn guard(
        &self,
        id: &RunId,
        driving: BoxFuture<'_, Result<Run, HostError>>,
    ) -> Result<Run, HostError> {
        match AssertUnwindSafe(driving).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => {
                let message = self.secrets.mask().owned(panic_message(&*panic));
                let input = || Input::Panicked {
                    message: message.clone(),
                };
                let run = self.interject(id, input).await?;
                self.tell_end(id).await?;
                Ok(run)
            }
        }
    }

    /// What watched the run went with its driver.
    async fn tell_end(&self, id: &RunId) -> Result<(), HostError> {
        if let Some(watch) = &self.watch {
            let entries = self.store.load(id, 0).await?;
            if let Some((end, past)) = entries.split_last() {
                let mut watched = watch.begin();
                watched.past(past);
                watched.heard(std::slice::from_ref(end));
            }
        }
        Ok(())
    }
}
