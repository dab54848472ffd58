//! What a process of a fleet does: it sweeps, takes runs and drives them, as `crates/bonded/src/commands/worker.rs` does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bonded_host::{CancellationToken, Host, HostError};
use bonded_kernel::{Run, RunId};
use bonded_state::StoreError;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::effects::{EffectsSeen, FleetModel, FleetTools};
use super::handle::LeaseHandle;
use super::lease_store::LeaseStore;
use super::member::FleetMember;

/// How often a worker looks for runs of those that died.
pub(super) const SWEEP: Duration = Duration::from_secs(1);

/// Of a thousand times that a person looks while something goes wrong, how many runs they resume.
const RESUMED: u32 = 500;

/// How long it waits for a server that is away.
const AWAY: Duration = Duration::from_secs(2);

pub(super) struct FleetLife {
    pub(super) member: Arc<FleetMember>,
    pub(super) handle: Arc<LeaseHandle>,
    pub(super) host: Host,
    places: usize,
    runs: Vec<RunId>,
    driving: AtomicUsize,
    freed: Notify,
}

impl FleetLife {
    pub(super) fn new(
        handle: Arc<LeaseHandle>,
        seen: EffectsSeen,
        places: usize,
        runs: Vec<RunId>,
    ) -> Self {
        let member = Arc::clone(&handle.member);
        let tools = FleetTools {
            member: Arc::clone(&member),
            seen,
        };
        let host = Host {
            store: Arc::new(LeaseStore(Arc::clone(&handle))),
            transport: Arc::new(FleetModel(Arc::clone(&member))),
            tools: Arc::new(tools),
            clock: Arc::new(member.clock.clone()),
            children: None,
            secrets: Arc::default(),
            live: None,
            watch: None,
            interrupt: CancellationToken::new(),
            drain: CancellationToken::new(),
        };
        Self {
            member,
            handle,
            host,
            places,
            runs,
            driving: AtomicUsize::new(0),
            freed: Notify::new(),
        }
    }

    /// Somebody resumes runs by name, one at a time, whichever other process has them.
    pub(super) async fn resume_by_name(self: Arc<Self>) {
        loop {
            let pause_ms = self.member.draw(|rng| rng.between(100, 4_000));
            sleep(Duration::from_millis(pause_ms)).await;
            if self.member.chance(RESUMED) {
                let named = self.member.draw(|rng| rng.one_of(&self.runs).clone());
                self.drive(&named).await;
            }
        }
    }

    pub(super) async fn work(self: Arc<Self>) {
        let mut next_sweep = Instant::now();
        loop {
            if Instant::now() >= next_sweep {
                // A server that is away is met again at the next take.
                let _swept = self.handle.sweep().await;
                next_sweep = Instant::now() + SWEEP;
            }
            self.take().await;
            tokio::select! {
                biased;
                () = self.freed.notified() => {}
                () = sleep_until(next_sweep) => {}
            }
        }
    }

    async fn take(self: &Arc<Self>) {
        while self.driving.load(Ordering::Relaxed) < self.places {
            let run = match self.handle.take().await {
                Ok(Some(taken)) => taken,
                Ok(None) => return,
                Err(_) => return sleep(AWAY).await,
            };
            self.driving.fetch_add(1, Ordering::Relaxed);
            let life = Arc::clone(self);
            self.member.spawn(async move {
                life.drive(&run).await;
                life.driving.fetch_sub(1, Ordering::Relaxed);
                life.freed.notify_one();
            });
        }
    }

    async fn drive(&self, run: &RunId) {
        match self.resume(run).await {
            // Its end may have been read only, which acknowledges nothing: an append acknowledges itself.
            Ok(run) if run.termination().is_some() => {}
            Ok(_) => self.complain(run, "the driver let go of it"),
            Err(
                HostError::TakenOver { .. }
                | HostError::Store(
                    StoreError::TakenOver { .. }
                    | StoreError::LeaseLost { .. }
                    | StoreError::Held { .. },
                ),
            ) => {}
            Err(error) => {
                let is_usual = matches!(&error, HostError::Store(it)
                    if it.may_pass() || matches!(it, StoreError::Conflict { .. }));
                if !is_usual {
                    self.complain(run, &error.to_string());
                }
                if self.handle.release(run).await.is_err() {
                    sleep(AWAY).await;
                }
            }
        }
    }

    fn complain(&self, run: &RunId, what: &str) {
        let life = self.member.life;
        let wrong = format!("life {life} drove {run}: {what}");
        self.member.server.complain(wrong);
    }

    async fn resume(&self, run: &RunId) -> Result<Run, HostError> {
        let loaded = self.host.load(run).await?;
        if loaded.termination().is_some() {
            self.host.store.release(run).await?;
            return Ok(loaded);
        }
        self.host.resume(run, CancellationToken::new()).await
    }
}
