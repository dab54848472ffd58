//! `bonded worker`: drives queued runs until it is told to stop.
//!
//! It takes one run after the other while it has a place, and drives each as `bonded resume` does. Now and then it queues
//! the runs of workers that have died, and looks at the whole queue. It decides nothing about a run: what it cannot drive
//! it leaves to others, and says why.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::CancellationToken;
use bonded_host::trust::Stance;
use bonded_postgres::{PostgresStore, WorkerOffer};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::args::WorkerArgs;
use crate::error::CliError;
use crate::queued_runs::{MissingThings, QueuedRuns};
use crate::signals::{self, Stopping, stop_on_signal};
use crate::{output, settings, stderr_writer};

/// How often an idle worker looks for runs.
const LOOK: Duration = Duration::from_millis(100);
/// How often it looks for those of workers that have died.
const SWEEP: Duration = Duration::from_secs(1);
/// How long it waits for a server that does not answer.
const AWAY: Duration = Duration::from_secs(2);

/// What a step that is interrupted has to end, which the drivers give it.
const LAST_MOMENT: Duration = Duration::from_secs(2);

const STOPPING: Stopping = Stopping {
    message: "stopping: each run is handed on after its current step; another signal ends it now",
    exit_code: 143,
};

pub(crate) async fn worker(args: &WorkerArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    stderr_writer::begin();
    let queues = settings::open_queues(store)?;
    let (mut host, tools) = settings::host(queues.clone(), Stance::Refuse);
    let stop = stop_on_signal(STOPPING);
    host.drain = stop.clone();
    let concurrent = i32::from(args.concurrent);
    let offer = WorkerOffer {
        queues: args.queues.clone(),
        labels: args.labels.clone(),
        concurrent,
    };
    queues.offer(offer).await?;
    output::stderr(&format!("worker of {}", args.queues.join(", ")));
    tokio::spawn(interrupt_after(stop.clone(), args.drain));
    let runs = Arc::new(QueuedRuns::new(host, queues.clone()));
    let worker = WorkerLoop {
        queues,
        runs,
        stop,
        places: usize::from(args.concurrent),
        is_once: args.once,
    };
    worker.work().await;
    tools.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Steps that take too long are interrupted, so that they have ended at the deadline.
async fn interrupt_after(stop: CancellationToken, drain: Duration) {
    stop.cancelled().await;
    sleep(drain.saturating_sub(LAST_MOMENT)).await;
    signals::interrupt().cancel();
}

struct WorkerLoop {
    queues: Arc<PostgresStore>,
    runs: Arc<QueuedRuns>,
    /// Cancelled when no more runs are to be taken.
    stop: CancellationToken,
    places: usize,
    is_once: bool,
}

impl WorkerLoop {
    /// Returns when it was told to stop, or has nothing left to do, and all its runs are driven to an end or handed on.
    async fn work(&self) {
        let mut driving = JoinSet::new();
        let mut missing = MissingThings::default();
        let mut next_sweep = Instant::now();
        loop {
            let is_sweep = Instant::now() >= next_sweep;
            if is_sweep && !self.stop.is_cancelled() {
                missing.expire();
                self.sweep(&missing).await;
                next_sweep = Instant::now() + SWEEP;
            }
            let has_all = self.take(&mut driving, &mut missing).await;
            let is_over = self.stop.is_cancelled() || (self.is_once && has_all && is_sweep);
            if driving.is_empty() && is_over {
                return;
            }
            let has_place = driving.len() < self.places;
            tokio::select! {
                Some(_) = driving.join_next() => {}
                () = self.stop.cancelled(), if !self.stop.is_cancelled() => {}
                () = sleep(LOOK), if has_place && !self.stop.is_cancelled() => {}
                () = sleep_until(next_sweep), if !self.stop.is_cancelled() => {}
            }
        }
    }

    /// Takes runs while there are places; whether there was none left.
    async fn take(&self, driving: &mut JoinSet<()>, missing: &mut MissingThings) -> bool {
        while driving.len() < self.places && !self.stop.is_cancelled() {
            let taken = match self.queues.take(missing.list()).await {
                Ok(Some(taken)) => taken,
                Ok(None) => return true,
                Err(error) => {
                    output::stderr(&CliError::from(error).render());
                    sleep(AWAY).await;
                    return false;
                }
            };
            if let Some(lacking) = missing.lacking(&taken) {
                let is_remembered = !missing.is_full();
                let runs = &self.runs;
                runs.leave_to_others(&taken.run, &lacking, is_remembered)
                    .await;
                self.tell(missing).await;
                continue;
            }
            let runs = Arc::clone(&self.runs);
            driving.spawn(async move { runs.drive(&taken.run).await });
        }
        false
    }

    /// A server that is away is met again at the next take, and told of then.
    async fn sweep(&self, missing: &MissingThings) {
        if self.queues.sweep().await.is_ok() {
            self.tell(missing).await;
        }
    }

    async fn tell(&self, missing: &MissingThings) {
        // Others only show it.
        let _told = self.queues.lack(missing.list()).await;
    }
}
