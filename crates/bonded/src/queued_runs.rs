//! What a worker does with a run that it has taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bonded_host::agent::{AtHand, Machine};
use bonded_host::keeping::{self, Keeper};
use bonded_host::sandbox::Launcher;
use bonded_host::shapes::text::short_id;
use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, HostError, PendingReview, RunResult};
use bonded_kernel::{Run, RunId};
use bonded_postgres::{PostgresStore, TakenRun};
use bonded_state::{RunQueues as _, Store, StoreError};
use bonded_work::{ExchangeError, ItemWorker, WorkError};
use tokio::time::Instant;

use crate::error::CliError;
use crate::settings;

/// When a run is tried again that no worker could drive just now.
const RETRY: Duration = Duration::from_secs(15);

/// How long a worker waits with a run that the server does not take back.
const AWAY: Duration = Duration::from_secs(2);

/// When something that is missing is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How many things are remembered: every take names them.
const MISSING_MAX: usize = 100;

/// The directories and other things that runs need and this machine does not have.
#[derive(Debug, Default)]
pub(crate) struct MissingThings {
    /// The data directory of the workspace whose notes are here.
    workspace: Option<PathBuf>,
    /// Whether items of plans are worked on here.
    has_tree_copies: bool,
    /// Each until when it is not looked for again.
    things: BTreeMap<String, Instant>,
}

impl MissingThings {
    pub(crate) fn beside(workspace: Option<PathBuf>, has_tree_copies: bool) -> Self {
        Self {
            workspace,
            has_tree_copies,
            ..Self::default()
        }
    }

    /// What is not known, because a newer program wrote it, is not here.
    fn is_here(&self, words: &str) -> bool {
        let machine = Machine {
            path: &std::env::var_os("PATH").unwrap_or_default(),
            launcher: &Launcher::own(),
            workspace: self.workspace.as_deref(),
            has_tree_copies: self.has_tree_copies,
        };
        AtHand::parse(words).is_some_and(|thing| thing.is_here(machine))
    }

    /// What a run needs that is not here, which is remembered while there is room.
    pub(crate) fn lacking(&mut self, taken: &TakenRun) -> Option<String> {
        let things = taken.at_hand.iter().filter(|words| !self.is_here(words));
        let dir = Some(&taken.dir).filter(|dir| !Path::new(dir).is_dir());
        let missing: Vec<String> = dir.into_iter().chain(things).cloned().collect();
        for thing in &missing {
            if !self.is_full() {
                let until = Instant::now() + LOOK_AGAIN;
                self.things.insert(thing.clone(), until);
            }
        }
        missing.into_iter().next()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.things.len() >= MISSING_MAX
    }

    /// Forgets those that are to be looked for again.
    pub(crate) fn expire(&mut self) {
        let now = Instant::now();
        self.things.retain(|_, until| *until > now);
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.things.keys().cloned().collect()
    }
}

/// Drives the runs of a worker, each as if it were resumed.
pub(crate) struct QueuedRuns {
    host: Host,
    queues: Arc<PostgresStore>,
    keeper: Keeper,
    /// Where items of plans are worked on, if they are.
    items: Option<Arc<ItemWorker>>,
}

impl QueuedRuns {
    pub(crate) fn new(
        host: Host,
        queues: Arc<PostgresStore>,
        items: Option<Arc<ItemWorker>>,
    ) -> Self {
        let keeper = Keeper::new(host.store.clone());
        Self {
            host,
            queues,
            keeper,
            items,
        }
    }

    /// Drives a run to its end, or until it waits for a person or is handed on.
    pub(crate) async fn drive(&self, run: &RunId) {
        let shown = short_id(run);
        let said = match self.resume(run).await {
            Ok(run) => match RunResult::of(&run) {
                Some(result) => result.status.as_str().to_owned(),
                None => {
                    self.park(run.id()).await;
                    "waits for approval".into()
                }
            },
            Err(WorkerFault::Host(HostError::Interrupted { .. })) => "handed on".into(),
            Err(error) if error.is_of_lease() => error.into_error().message().to_owned(),
            Err(error) => {
                let error = error.into_error();
                let why = format!("{}: {}", error.code.name(), error.message());
                self.postpone(run, why).await
            }
        };
        tracing::info!(run = run.as_str(), "run {shown}: {said}");
    }

    /// Gives a run back to the queue that needs what is not here. One that this worker does not remember is put off: it would
    /// be taken again at once.
    pub(crate) async fn leave_to_others(&self, run: &RunId, lacking: &str, is_remembered: bool) {
        match is_remembered {
            true => self.leave(run).await,
            false => {
                self.postpone(run, format!("{lacking} is not there")).await;
            }
        }
    }

    async fn leave(&self, run: &RunId) {
        if self.queues.release(run).await.is_err() {
            // This worker takes it again, and not at once.
            tokio::time::sleep(AWAY).await;
        }
    }

    async fn resume(&self, id: &RunId) -> Result<Run, WorkerFault> {
        let store = &*self.host.store;
        let run = self.host.load(id).await?;
        // To open the tools of a run that waits would be for nothing.
        let waits = PendingReview::of(store, &run).await?.is_some();
        if run.termination().is_some() || waits {
            store.release(id).await?;
            return Ok(run);
        }
        let (kept, _) = keeping::kept(store, id).await?.unwrap_or_default();
        self.keeper.refuse_cut(id, Some(&kept)).await?;
        let following = self.keeper.follow(id, Some(&kept));
        let following = following.map_err(|error| WorkerFault::Other(error.into()))?;
        let driven = match (&run.config().item, &self.items) {
            (Some(_), Some(items)) => self.drive_item(items, &run).await,
            _ => self
                .host
                .resume(id, CancellationToken::new())
                .await
                .map_err(WorkerFault::from),
        };
        following.settle().await;
        driven
    }

    /// Its tools are its own and end with it: they work in a copy that is gone then.
    async fn drive_item(&self, items: &Arc<ItemWorker>, run: &Run) -> Result<Run, WorkerFault> {
        let (mut host, tools) = settings::host(self.queues.clone(), Stance::Refuse);
        host.drain = self.host.drain.clone();
        let driven = items.drive(host, run).await;
        tools.stop().await;
        match driven {
            Ok(run) => Ok(run),
            Err(WorkError::Host(error)) => Err(error.into()),
            Err(WorkError::Exchange(ExchangeError::Store(error))) => Err(error.into()),
            Err(error) => Err(WorkerFault::Other(error.into())),
        }
    }

    /// Sets a run aside whose agent waits. Who answers meanwhile wakes it before it is set aside, so that it is looked at
    /// once more.
    async fn park(&self, id: &RunId) {
        let parked = async {
            self.queues.park(id).await?;
            let run = self.host.load(id).await?;
            if PendingReview::of(&*self.host.store, &run).await?.is_none() {
                self.queues.wake(id).await?;
            }
            Ok::<(), HostError>(())
        };
        // It is looked at again after a while in any case.
        let _parked = parked.await;
    }

    /// Leaves a run to others, or to a later try; gives the reason.
    async fn postpone(&self, run: &RunId, why: String) -> String {
        self.leave(run).await;
        // A server that is away is met with the next take.
        let _postponed = self.queues.postpone(run, why.clone(), RETRY).await;
        why
    }
}

/// Why a run was not driven to its end.
enum WorkerFault {
    Host(HostError),
    Other(CliError),
}

impl WorkerFault {
    /// Whether the run is another worker's now, or soon.
    fn is_of_lease(&self) -> bool {
        matches!(
            self,
            Self::Host(
                HostError::TakenOver { .. }
                    | HostError::Store(StoreError::TakenOver { .. } | StoreError::LeaseLost { .. })
            )
        )
    }

    fn into_error(self) -> CliError {
        match self {
            Self::Host(error) => error.into(),
            Self::Other(error) => error,
        }
    }
}

impl From<HostError> for WorkerFault {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<StoreError> for WorkerFault {
    fn from(error: StoreError) -> Self {
        Self::Host(error.into())
    }
}
