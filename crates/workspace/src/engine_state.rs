//! What the loops of an engine share: its store, its clock, who does what rules say, and the runs under way.

use std::sync::Arc;

use bonded_host::Clock;
use bonded_kernel::Millis;
use bonded_workspace_rules::{Actor, Chain, Change};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::actions::Actions;
use super::active::Active;
use super::config::HostSurroundings;
use super::operator::OperatorSink;
use crate::store::{CommittedWrite, WorkspaceError, WorkspaceStore, Write};

/// The engine looks at its clock at least this often, because a clock may be set and a machine may sleep.
pub(super) const NAP_MS: u64 = 30_000;

/// How long the engine waits before it tries again what its store could not do.
const PAUSE_MS: u64 = 1000;

/// What an engine works with.
#[derive(Clone)]
pub struct EngineSettings {
    /// The events, and how far the engine has looked at them.
    pub store: Arc<WorkspaceStore>,
    /// The wall clock, where it is not a test's own.
    pub clock: Arc<dyn Clock>,
    /// What rules of this server may refer to.
    pub surroundings: Arc<HostSurroundings>,
    /// Who does what rules say.
    pub actions: Actions,
    /// How many runs are driven at once.
    pub concurrent_runs: usize,
    /// Takes what whoever runs the server should know; the engine never ends by an error.
    pub tell: OperatorSink,
}

impl std::fmt::Debug for EngineSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineSettings")
    }
}

/// What the loops share.
#[derive(Debug)]
pub(super) struct EngineState {
    pub(super) settings: EngineSettings,
    /// Told when a run may be waiting to be driven.
    pub(super) queued: Notify,
    /// Told when a person has judged a call of a run that may wait for it.
    pub(super) judged: Notify,
    pub(super) active: Active,
}

impl EngineState {
    /// Nothing is under way yet.
    pub(super) fn new(settings: EngineSettings) -> Self {
        Self {
            settings,
            queued: Notify::new(),
            judged: Notify::new(),
            active: Active::default(),
        }
    }

    /// The store of the settings.
    pub(super) fn store(&self) -> &WorkspaceStore {
        &self.settings.store
    }

    /// By the clock of the settings.
    pub(super) fn now(&self) -> Millis {
        self.settings.clock.now()
    }

    /// For whoever runs the server.
    pub(super) fn tell(&self, message: &str) {
        (self.settings.tell)(message);
    }

    /// Makes a change in the engine's own name.
    /// The engine writes as the system, at the beginning of a chain.
    pub(super) async fn write(&self, change: Change) -> Result<CommittedWrite, WorkspaceError> {
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

    /// The row of an event that the engine before this one had looked at, and hardly any since.
    pub(super) async fn left_at(&self) -> u64 {
        loop {
            match self.store().considered_row().await {
                Ok(row) => return row,
                Err(error) => self.pause("the events could not be read", &error).await,
            }
        }
    }

    /// Sleeps until a moment, but never for long.
    pub(super) fn nap(&self, until: Option<Millis>) -> BoxFuture<'static, ()> {
        let longest = self.now().plus(NAP_MS);
        let until = until.map_or(longest, |until| until.min(longest));
        self.settings.clock.sleep_until(until)
    }

    /// After an error that may pass.
    /// Whoever runs the server is told each time, and the caller tries again after the pause.
    pub(super) fn pause(&self, what: &str, error: &WorkspaceError) -> BoxFuture<'static, ()> {
        self.tell(&format!("{what}: {error}"));
        let until = self.now().plus(PAUSE_MS);
        self.settings.clock.sleep_until(until)
    }
}
