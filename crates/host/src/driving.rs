//! Driving: a run is begun or taken up, given to the driver, and brought to its end.
//!
//! Whoever drives a run holds its claim in the store. Tools are opened before the first entry is
//! written, so that a run which cannot have its tools never begins. A panic on the way ends the run and
//! not the process.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bonded_kernel::{
    self as kernel, Entry, GoalGiven, Input, Price, Run, RunConfig, RunId, RunStarted,
};
use bonded_tools::Registry;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join, join3};
use tokio_util::sync::CancellationToken;

use crate::client_results::ClientResults;
use crate::counter::Counter;
use crate::driver::{AskedGoal, Driver, GoalTexts, MemoryLink, panic_message};
use crate::error::HostError;
use crate::host::{Goal, Host, PROGRAM};
use crate::load::load_run_seen;
use crate::watch::WatchedRun;
use crate::{images, prices, windows};

/// How a run that has begun is entered.
enum Entrance<'a> {
    /// It goes on with what it was doing; where its goal is given again, it must be the same.
    TakeUp(Option<&'a AskedGoal>, ClientResults),
    /// It has ended, and goes on with another goal.
    Goal(Box<GoalGiven>),
}

/// What came of entering a run.
enum Entered<'a> {
    Driving(BoxFuture<'a, Result<Run, HostError>>),
    /// It has ended, or waits for somebody.
    AsItIs(Box<Run>),
}

/// What a run goes on with.
struct FirstInput {
    input: Input,
    /// What was asked, where the log does not keep it as it was.
    asked: Option<GoalTexts>,
    results: ClientResults,
}

impl Entrance<'_> {
    /// Whether there is anything to drive: the run has neither ended, nor does it wait for somebody; or there is a goal.
    fn is_open(&self, run: &Run) -> bool {
        match self {
            Self::TakeUp(_, results) => {
                let is_at_work = run.termination().is_none() && run.waiting_call().is_none();
                is_at_work && !results.are_awaited(run)
            }
            Self::Goal(_) => true,
        }
    }
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
        let asked = AskedGoal {
            text,
            images: goal.images,
        };
        let entrance = Entrance::TakeUp(Some(&asked), ClientResults::default());
        self.go_on(&id, entrance, cancel).await
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
        images::check(&goal.config, &goal.images)?;
        let windows = windows::ask(&*self.transport, &goal.config);
        let prices = prices::ask(&*self.transport, &goal.config);
        let opened = self.tools.open(&goal.config);
        // The servers first: they answer while the tools are opened.
        let (windows, prices, registry) = join3(windows, prices, opened).await;
        let registry = registry?;
        self.take_answers(&mut goal.config, windows, prices)?;
        Ok((goal, registry))
    }

    /// Asks for what the servers of other models say of themselves.
    async fn ask_servers(&self, config: &mut RunConfig) -> Result<(), HostError> {
        let windows = windows::ask(&*self.transport, config);
        let prices = prices::ask(&*self.transport, config);
        let (windows, prices) = join(windows, prices).await;
        self.take_answers(config, windows, prices)
    }

    fn take_answers(
        &self,
        config: &mut RunConfig,
        windows: Vec<Option<u64>>,
        prices: Vec<Option<Price>>,
    ) -> Result<(), HostError> {
        prices::take(config, prices, self.clock.now())?;
        for (target, window) in config.targets.iter_mut().zip(windows) {
            windows::take(target, window);
        }
        Ok(())
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
        started.images = goal.images;
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
        let entrance = Entrance::TakeUp(None, ClientResults::default());
        self.go_on(id, entrance, cancel).await
    }

    /// Takes a run up with what its client says that calls returned, and drives it on. A run that waits for other results
    /// is returned as it is.
    pub async fn answer(
        &self,
        id: &RunId,
        results: ClientResults,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.go_on(id, Entrance::TakeUp(None, results), cancel)
            .await
    }

    /// Gives a run that has ended its next goal, and drives it to its next end, or until it waits for a person.
    ///
    /// What the run began with holds on: its directory, its tools, its sandbox. A run that takes no other goal is refused with
    /// [`HostError::TakesNoGoal`], and one that somebody drives with the store's word for that.
    pub async fn pursue(
        &self,
        id: &RunId,
        given: GoalGiven,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.go_on(id, Entrance::Goal(Box::new(given)), cancel)
            .await
    }

    /// The claim comes first: a log that is read before it may have gone on when the claim is made.
    ///
    /// Whatever stands in the way after the claim releases it again.
    async fn go_on(
        &self,
        id: &RunId,
        entrance: Entrance<'_>,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.store.claim(id).await?;
        match Box::pin(self.enter(id, entrance, cancel)).await {
            Ok(Entered::Driving(driving)) => self.guard(id, driving).await,
            Ok(Entered::AsItIs(run)) => {
                self.store.release(id).await?;
                Ok(*run)
            }
            Err(unusable) => {
                self.store.release(id).await?;
                Err(unusable)
            }
        }
    }

    /// Reads a run and opens its tools. What that took is let go of before the run is driven.
    async fn enter<'a>(
        &'a self,
        id: &RunId,
        entrance: Entrance<'_>,
        cancel: CancellationToken,
    ) -> Result<Entered<'a>, HostError> {
        let mut watched = self.watch.as_ref().map(|watch| watch.begin());
        let run = self.load_to_drive(id, &entrance, &mut watched).await?;
        if !entrance.is_open(&run) {
            return Ok(Entered::AsItIs(Box::new(run)));
        }
        let opened = self.tools.open(run.config()).await?;
        // What the log says the tools are is what the model was told.
        let registry = opened.pinned_to(run.catalog());
        let mut first = self.first_input(&run, entrance).await?;
        first.results.waited_ms = self.clock.now() - run.last_at();
        let driving = self.take_up(run, first, registry, cancel, watched);
        Ok(Entered::Driving(driving))
    }

    /// What a run goes on with, and what it was asked where the log does not keep that.
    async fn first_input(
        &self,
        run: &Run,
        entrance: Entrance<'_>,
    ) -> Result<FirstInput, HostError> {
        let mut given = match entrance {
            Entrance::Goal(given) => given,
            Entrance::TakeUp(_, results) => {
                return Ok(FirstInput {
                    input: Input::Resumed,
                    asked: None,
                    results,
                });
            }
        };
        let mut config = run.config().clone();
        config.limits.cost_max = config.limits.cost_max.or(given.limits.cost_max);
        // A limit of money needs a price for whatever is asked from here on.
        let is_limited = given.limits.cost_max.is_some();
        let lacks_price = is_limited && config.targets.iter().any(|it| it.price.is_none());
        if given.targets.is_some() || lacks_price {
            config.targets = given.targets.take().unwrap_or(config.targets);
            self.ask_servers(&mut config).await?;
            given.targets = Some(config.targets.clone());
        }
        let mask = self.secrets.mask_of(&config);
        let asked = GoalTexts::new(given.goal.clone(), run.system().clone(), &mask);
        (given.goal, _) = asked.kept();
        Ok(FirstInput {
            input: Input::Goal(given),
            asked: asked.unless_kept(),
            results: ClientResults::default(),
        })
    }

    /// A clock that was set back since the last entry is made up for, so that time in the log goes on.
    fn take_up<'a>(
        &'a self,
        mut run: Run,
        first: FirstInput,
        registry: Arc<Registry>,
        cancel: CancellationToken,
        watched: Option<Box<dyn WatchedRun>>,
    ) -> BoxFuture<'a, Result<Run, HostError>> {
        let now = self.clock.now();
        let ahead_ms = run.last_at() - now;
        let step = kernel::step(&mut run, now.plus(ahead_ms), first.input);
        let counter = Counter::of(run.config());
        let driver = Driver {
            host: self,
            run,
            registry,
            cancel,
            counter,
            memory: MemoryLink::default(),
            asked: first.asked,
            results: Arc::new(first.results),
            ahead_ms,
            watched,
        };
        Box::pin(driver.drive(step))
    }

    /// A run for a work item belongs to its plan, which would not know what came of it.
    async fn load_to_drive(
        &self,
        id: &RunId,
        entrance: &Entrance<'_>,
        watched: &mut Option<Box<dyn WatchedRun>>,
    ) -> Result<Run, HostError> {
        let see = |part: &[Entry]| {
            if let Some(watched) = watched {
                watched.past(part);
            }
        };
        let run = load_run_seen(&*self.store, id, see).await?;
        match entrance {
            Entrance::TakeUp(None, _) => {
                if let (Some(item), None) = (&run.config().item, run.termination()) {
                    return Err(HostError::OfPlan {
                        run: id.clone(),
                        plan: item.plan.clone(),
                    });
                }
            }
            // What it answers by now is the answer to another question.
            Entrance::TakeUp(Some(goal), _) if !goal.is_of(&run) || run.goals() > 1 => {
                return Err(HostError::OtherGoal { run: id.clone() });
            }
            Entrance::TakeUp(Some(_), _) => {}
            Entrance::Goal(given) => {
                let refused = |why| HostError::TakesNoGoal {
                    run: id.clone(),
                    why,
                };
                run.takes(given).map_err(refused)?;
            }
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
