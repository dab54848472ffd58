//! The host: what runs are driven with, and how they are loaded, cancelled and forked.
//!
//! Everything comes in through traits: the store, the transport, the tools, the clock. So the same host
//! drives real runs and those of tests, and none of its code knows which.
//!
//! A run belongs to whoever claimed it. What others may do, to cancel it or to review a call, goes
//! through the log like everything else: they append, and the driver notices.

use std::sync::Arc;

use bonded_kernel::{
    self as kernel, Entry, Head, Image, Input, Run, RunConfig, RunId, SubAgent, Text,
};
use bonded_state::{Holder, ListFilter, Store, StoreError};
use bonded_tools::Registry;
use bonded_transport::Transport;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent_error::AgentError;
use crate::clock::Clock;
use crate::error::HostError;
use crate::live::LiveSink;
use crate::load::load_run;
use crate::secrets::Secrets;
use crate::watch::Watch;

/// What began a run, as its log names it.
pub(crate) const PROGRAM: &str = concat!("bonded ", env!("CARGO_PKG_VERSION"));

/// Opens the tools for a run's working directory.
pub trait Toolset: Send + Sync {
    /// Called when a run begins and when it is taken up. What it returns may be shared with other runs
    /// of the same settings.
    fn open<'a>(&'a self, config: &'a RunConfig)
    -> BoxFuture<'a, Result<Arc<Registry>, HostError>>;
}

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The goal as it was given, secrets included.
    pub text: Text,
    /// The system text as it was given, secrets included.
    pub system: Text,
    /// What the run is bound to; it is frozen in the first entry.
    pub config: RunConfig,
    /// What goes with the goal.
    pub images: Vec<Image>,
}

/// Everything that drives runs, shared by all of them.
pub struct Host {
    /// Where logs are, and who holds which run.
    pub store: Arc<dyn Store>,
    /// What asks models.
    pub transport: Arc<dyn Transport>,
    /// What opens the tools of a run.
    pub tools: Arc<dyn Toolset>,
    /// The only source of time.
    pub clock: Arc<dyn Clock>,
    /// Makes the goals of agents that other agents call; without it none can be called.
    pub children: Option<Arc<dyn Children>>,
    /// What must not enter a log.
    pub secrets: Arc<Secrets>,
    /// Cancelled where the process is about to end: runs are let go of, and can be resumed.
    pub interrupt: CancellationToken,
    /// Cancelled where the process is to end soon: runs are let go of before they next ask a model.
    pub drain: CancellationToken,
    /// Is told what models say while they say it, if anybody wants to know.
    pub live: Option<Arc<dyn LiveSink>>,
    /// Is told what becomes durable of the runs, where they are measured.
    pub watch: Option<Arc<dyn Watch>>,
}

/// Makes the goals of agents that other agents call.
pub trait Children: Send + Sync {
    /// `arguments` are the JSON text of the call. An error becomes the output of a failed call.
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

    /// Whether this process lets go of its runs.
    pub(crate) fn is_ending(&self) -> bool {
        self.interrupt.is_cancelled() || self.drain.is_cancelled()
    }

    /// Rebuilds a run from its log.
    pub async fn load(&self, id: &RunId) -> Result<Run, HostError> {
        load_run(&*self.store, id).await
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
    ///
    /// Such a run is cancelled differently: the time since its last entry is not its own.
    async fn is_left(&self, id: &RunId) -> Result<bool, HostError> {
        let filter = ListFilter {
            prefix: Some(id.as_str().to_owned()),
            ..ListFilter::default()
        };
        let listed = self.store.list(filter).await?;
        let listed = listed.iter().find(|it| it.run == *id);
        Ok(listed.is_some_and(|it| matches!(it.held, Holder::Nobody | Holder::Queue)))
    }

    /// Puts an input that ends the run in from outside the driver. The driver may write at the same
    /// moment: then the log has gone on, and the input is tried on what it says now. A store may fail after
    /// its commit: then the log says that the run has ended.
    pub(crate) async fn interject(
        &self,
        id: &RunId,
        input: impl Fn() -> Input,
    ) -> Result<Run, HostError> {
        loop {
            let mut run = self.load(id).await?;
            let step = kernel::step(&mut run, self.clock.now(), input());
            if step.entries().is_empty() {
                return Ok(run);
            }
            let entries = step.entries().clone();
            match self.store.append_as_guest(step.before(), entries).await {
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
    ///
    /// Nothing of the other run is changed. With a `config` the new run goes on under that one. The
    /// tree that the tools work on is not touched.
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
