//! The engine: looks at events and at the clock, fires rules, and drives their runs.
//!
//! Three loops share a store. The matcher holds every event against the rules, the scheduler looks at schedules, and
//! both make firings durable together with how far they looked: none is missed and none is made twice, whenever the
//! process dies. The runner drives what is queued.

use std::sync::Arc;

use crate::store::{WorkspaceError, WorkspaceStore, Write, Written};
use bonded_kernel::Millis;
use bonded_state::BoxFuture;
use bonded_workspace_rules::{Actor, Chain, Change};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::active::Active;
use super::config::HostSurroundings;
use super::firing::Actions;
use super::matcher::Matcher;
use super::runner::Runner;
use super::scheduler::Scheduler;
use bonded_host::Clock;

/// The engine looks at its clock at least this often, because a clock may be set and a machine may sleep.
pub(super) const NAP_MS: u64 = 30_000;

/// How long the engine waits before it tries again what its store could not do.
const PAUSE_MS: u64 = 1000;

/// What an engine works with.
#[derive(Clone)]
pub struct EngineSettings {
    pub store: Arc<WorkspaceStore>,
    /// The wall clock, where it is not a test's own.
    pub clock: Arc<dyn Clock>,
    pub surroundings: Arc<HostSurroundings>,
    pub actions: Actions,
    /// How many runs are driven at once.
    pub concurrent_runs: usize,
    /// Told what a person who runs the server should know.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for EngineSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineSettings")
    }
}

/// Fires the rules of all workspaces of a store. There is one for each store.
#[derive(Clone, Debug)]
pub struct Engine(pub(super) Arc<Shared>);

/// What the loops share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: EngineSettings,
    /// Told when a run may be waiting to be driven.
    pub(super) queued: Notify,
    pub(super) active: Active,
}

impl Engine {
    pub fn new(settings: EngineSettings) -> Self {
        Self(Arc::new(Shared {
            settings,
            queued: Notify::new(),
            active: Active::default(),
        }))
    }

    /// Works until it is told to stop. Runs under way are let go of, not ended: whoever runs the engine next takes
    /// them up.
    pub async fn run(&self, stop: CancellationToken) {
        let shared = &self.0;
        let (tell_rules, rules) = mpsc::unbounded_channel();
        let matcher = Matcher::new(shared.clone(), tell_rules);
        let scheduler = Scheduler::new(shared.clone(), rules);
        let runner = Runner::new(shared.clone());
        tokio::select! {
            () = stop.cancelled() => {}
            () = Box::pin(matcher.run()) => {}
            () = Box::pin(scheduler.run()) => {}
            () = Box::pin(runner.run()) => {}
        }
    }
}

impl Shared {
    pub(super) fn store(&self) -> &WorkspaceStore {
        &self.settings.store
    }

    pub(super) fn now(&self) -> Millis {
        self.settings.clock.now()
    }

    pub(super) fn tell(&self, message: &str) {
        (self.settings.tell)(message);
    }

    /// Makes a change in the engine's own name.
    pub(super) async fn write(&self, change: Change) -> Result<Written, WorkspaceError> {
        let write = Write {
            actor: Actor::System,
            at: self.now(),
            request_id: "rules".into(),
            key: None,
            chain: Chain::default(),
            change,
        };
        self.store().write(write).await
    }

    /// Sleeps until a moment, but never for long.
    pub(super) fn nap(&self, until: Option<Millis>) -> BoxFuture<'static, ()> {
        let longest = self.now().plus(NAP_MS);
        let until = until.map_or(longest, |until| until.min(longest));
        self.settings.clock.sleep_until(until)
    }

    /// After an error that may pass.
    pub(super) fn pause(&self, what: &str, error: &WorkspaceError) -> BoxFuture<'static, ()> {
        self.tell(&format!("{what}: {error}"));
        let until = self.now().plus(PAUSE_MS);
        self.settings.clock.sleep_until(until)
    }
}
