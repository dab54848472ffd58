//! The host: starts, resumes, cancels and forks runs.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::{
    self as kernel, Entry, Head, Input, OwnTools, Run, RunConfig, RunId, RunStarted, SandboxConfig,
    SubAgent, Text,
};
use bonded_state::{Holder, ListFilter, Store, StoreError};
use bonded_tools::{BoxFuture, Registry, Tool, Workdir, builtin};
use bonded_transport::Transport;
use futures_util::FutureExt as _;
use futures_util::future::join;
use tokio_util::sync::CancellationToken;

use crate::agent_error::AgentError;
use crate::clock::Clock;
use crate::confinement::Confinement;
use crate::counter::Counter;
use crate::driver::{Driver, GoalTexts, MemoryLink, panic_message};
use crate::error::HostError;
use crate::live::LiveSink;
use crate::load::load_run;
use crate::secrets::Secrets;
use crate::windows;

/// Opens the tools for a run's working directory.
pub trait Toolset: Send + Sync {
    fn open<'a>(&'a self, config: &'a RunConfig)
    -> BoxFuture<'a, Result<Arc<Registry>, HostError>>;
}

/// What began a run, as its log names it.
pub(crate) const PROGRAM: &str = concat!("bonded ", env!("CARGO_PKG_VERSION"));

/// The built-in tools; runs that share a directory and what holds for their commands share them.
#[derive(Default)]
pub struct WorkdirTools {
    confinement: Confinement,
    opened: Mutex<BTreeMap<ToolTerms, Arc<Registry>>>,
}

/// The directory, the kernel's own tools, what is demanded for commands, the files with secrets, and which tools.
type ToolTerms = (
    String,
    OwnTools,
    Option<Box<SandboxConfig>>,
    Vec<String>,
    Option<Vec<String>>,
);

impl std::fmt::Debug for WorkdirTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkdirTools")
    }
}

impl Toolset for WorkdirTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(std::future::ready(self.open_now(config)))
    }
}

impl WorkdirTools {
    pub fn new(confinement: Confinement) -> Self {
        Self {
            confinement,
            opened: Mutex::default(),
        }
    }

    fn open_now(&self, config: &RunConfig) -> Result<Arc<Registry>, HostError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let secrets = config.targets.iter().flat_map(|it| it.secrets_in.clone());
        let key = (
            config.dir.clone(),
            config.own_tools,
            config.sandbox.clone(),
            secrets.collect(),
            config.builtin.clone(),
        );
        if let Some(registry) = opened.get(&key) {
            return Ok(registry.clone());
        }
        let workdir =
            Workdir::open(Path::new(&config.dir)).map_err(|error| HostError::Workdir {
                dir: config.dir.clone(),
                why: error.to_string(),
            })?;
        let sandbox = self
            .confinement
            .of_commands(config)
            .map_err(|source| HostError::Sandbox { source })?;
        let is_given = |tool: &Arc<dyn Tool>| {
            let given = config.builtin.as_ref();
            given.is_none_or(|names| names.contains(&tool.spec().name))
        };
        let tools = builtin(workdir, &sandbox).into_iter().filter(is_given);
        let registry = Registry::of_run(tools.collect(), config)
            .map_err(|source| HostError::Catalog { source })?;
        let registry = Arc::new(registry);
        opened.insert(key, registry.clone());
        Ok(registry)
    }
}

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Goal {
    pub text: Text,
    pub system: Text,
    pub config: RunConfig,
}

/// Everything that drives runs, shared by all of them.
pub struct Host {
    pub store: Arc<dyn Store>,
    pub transport: Arc<dyn Transport>,
    pub tools: Arc<dyn Toolset>,
    pub clock: Arc<dyn Clock>,
    /// Makes the goals of agents that other agents call; without it none can be called.
    pub children: Option<Arc<dyn Children>>,
    /// What must not enter a log.
    pub secrets: Arc<Secrets>,
    /// Cancelled where the process is about to end: runs are let go of, and can be resumed.
    pub interrupt: CancellationToken,
    /// Is told what models say while they say it, if anybody wants to know.
    pub live: Option<Arc<dyn LiveSink>>,
}

/// Makes the goals of agents that other agents call.
pub trait Children: Send + Sync {
    fn goal(&self, caller: &Run, agent: &SubAgent, arguments: &str) -> Result<Goal, AgentError>;
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

impl Host {
    /// A new id for a run.
    pub fn draw_id() -> RunId {
        let id = uuid::Uuid::new_v4().simple().to_string();
        RunId::new(&id).expect("32 hexadecimal digits name a run")
    }

    /// A new mark for the tags of a run.
    pub fn draw_nonce() -> String {
        let id = uuid::Uuid::new_v4().simple().to_string();
        id.get(..8).unwrap_or_default().to_owned()
    }

    /// Rebuilds a run from its log.
    pub async fn load(&self, id: &RunId) -> Result<Run, HostError> {
        load_run(&*self.store, id).await
    }

    /// Starts a run under an id that a caller chose, or takes up the one that has it already, and drives
    /// it to its end.
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
        self.go_on(&id, Some(&text), cancel).await
    }

    /// Starts a run under a new id and drives it to its end.
    pub async fn run(
        &self,
        id: RunId,
        mut goal: Goal,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        let asked = windows::ask(&*self.transport, &goal.config);
        let (registry, windows) = join(self.tools.open(&goal.config), asked).await;
        let registry = registry?;
        for (target, window) in goal.config.targets.iter_mut().zip(windows) {
            windows::take(target, window);
        }
        let driving = self.begin(&id, goal, registry, cancel);
        self.guard(&id, driving).await
    }

    /// What a run is made of is put on the heap outside of any future: thousands of runs may wait.
    fn begin<'a>(
        &'a self,
        id: &RunId,
        goal: Goal,
        registry: Arc<Registry>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Run, HostError>> {
        let counter = Counter::of(&goal.config);
        let catalog = registry.catalog().clone();
        let mask = self.secrets.mask_of(&goal.config);
        let asked = GoalTexts::new(goal.text, goal.system, &mask);
        let (text, system) = asked.kept();
        let mut started = RunStarted::new(text, system, goal.config, catalog);
        started.program = Some(PROGRAM.into());
        started.counted = counter.seed(&started, registry.catalog());
        let (run, step) = kernel::start(id.clone(), self.clock.now(), started);
        let driver = Driver {
            host: self,
            run,
            registry,
            cancel,
            counter,
            memory: MemoryLink::default(),
            asked: asked.unless_kept(),
            ahead_ms: 0,
        };
        Box::pin(driver.drive(step))
    }

    /// Takes a run up that no living process drives, and drives it to its end, or until it waits for a
    /// person. A run that has ended, or that waits, is returned as it is; one that is for a work item is refused.
    pub async fn resume(&self, id: &RunId, cancel: CancellationToken) -> Result<Run, HostError> {
        self.go_on(id, None, cancel).await
    }

    /// The claim comes first: a log that is read before it may have gone on when the claim is made.
    async fn go_on(
        &self,
        id: &RunId,
        goal: Option<&Text>,
        cancel: CancellationToken,
    ) -> Result<Run, HostError> {
        self.store.claim(id).await?;
        let run = match Box::pin(self.load_to_drive(id, goal)).await {
            Ok(run) if run.termination().is_none() && run.waiting_call().is_none() => run,
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
        let driving = self.take_up(run, registry, cancel);
        self.guard(id, driving).await
    }

    fn take_up<'a>(
        &'a self,
        mut run: Run,
        registry: Arc<Registry>,
        cancel: CancellationToken,
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
            ahead_ms,
        };
        Box::pin(driver.drive(step))
    }

    async fn load_to_drive(&self, id: &RunId, goal: Option<&Text>) -> Result<Run, HostError> {
        let run = self.load(id).await?;
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
                self.interject(id, input).await
            }
        }
    }

    /// Ends a run as cancelled, whoever drives it; its driver notices and lets go.
    pub async fn cancel(&self, id: &RunId, reason: &str) -> Result<Run, HostError> {
        let reason = || reason.to_owned();
        match self.is_left(id).await? {
            true => {
                let input = || Input::CancelLeft { reason: reason() };
                self.interject(id, input).await
            }
            false => {
                let input = || Input::Cancel { reason: reason() };
                self.interject(id, input).await
            }
        }
    }

    /// Whether no living process drives a run.
    async fn is_left(&self, id: &RunId) -> Result<bool, HostError> {
        let filter = ListFilter {
            prefix: Some(id.as_str().to_owned()),
            ..ListFilter::default()
        };
        let listed = self.store.list(filter).await?;
        let listed = listed.iter().find(|it| it.run == *id);
        Ok(listed.is_some_and(|it| it.held == Holder::Nobody))
    }

    /// Puts an input that ends the run in from outside the driver. The driver may write at the same
    /// moment: then the log has gone on, and the input is tried on what it says now. A store may fail after
    /// its commit: then the log says that the run has ended.
    async fn interject(&self, id: &RunId, input: impl Fn() -> Input) -> Result<Run, HostError> {
        loop {
            let mut run = self.load(id).await?;
            let step = kernel::step(&mut run, self.clock.now(), input());
            if step.entries().is_empty() {
                return Ok(run);
            }
            match self
                .store
                .append(step.before(), step.entries().clone())
                .await
            {
                Ok(_) => return Ok(run),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => {
                    let run = self.load(id).await?;
                    return match run.termination() {
                        Some(_) => Ok(run),
                        None => Err(error.into()),
                    };
                }
            }
        }
    }

    /// Makes a new run that stands where `turn` of another one began.
    pub async fn fork(
        &self,
        from: &RunId,
        turn: u32,
        id: &RunId,
        config: Option<&RunConfig>,
    ) -> Result<(), HostError> {
        let entries = self.store.load(from, 0).await?;
        let turns = entries.last().map_or(0, |entry| entry.turn);
        let copies: Vec<Entry> =
            kernel::fork(&entries, id, turn, config).ok_or_else(|| HostError::NoSuchTurn {
                run: from.clone(),
                turn,
                turns,
            })?;
        match self.store.append(Head::EMPTY, copies.into()).await {
            Ok(_) => Ok(self.store.release(id).await?),
            Err(StoreError::Conflict { .. }) => Err(HostError::IdTaken { run: id.clone() }),
            Err(error) => Err(error.into()),
        }
    }
}
