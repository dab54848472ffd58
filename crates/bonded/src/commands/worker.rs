//! `bonded worker`: drives queued runs until it is told to stop.
//!
//! It takes one run after the other while it has a place, and drives each as `bonded resume` does. Now and then it queues
//! the runs of workers that have died, and looks at the whole queue. It decides nothing about a run: what it cannot drive
//! it leaves to others, and says why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::CancellationToken;
use bonded_host::trust::Stance;
use bonded_postgres::{PostgresStore, WorkerOffer};
use bonded_serve::agents::needs_tokens;
use bonded_serve::operations::{self, Operations, Queues, Readiness};
use bonded_telemetry::QueueFigures;
use bonded_work::{ItemWorker, Workshop};
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::serve;
use crate::args::WorkerArgs;
use crate::error::{CliError, Code};
use crate::queued_runs::{MissingThings, QueuedRuns};
use crate::signals::{self, Stopping, stop_on_signal};
use crate::work::Ground;
use crate::workspace::worker_notes::WorkerNotes;
use crate::{log_form, output, settings, stderr_writer, telemetry};

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

pub(crate) async fn worker(
    args: &WorkerArgs,
    store: Option<&Path>,
    ground: Option<&Ground>,
) -> Result<ExitCode, CliError> {
    log_form::demand(args.log.demanded());
    stderr_writer::begin();
    let operator = Operator::of(args).await?;
    let notes = args.data.as_deref().map(WorkerNotes::open).transpose()?;
    let runs = notes.as_ref().map(WorkerNotes::runs);
    let store = store.or(runs.as_deref());
    let queues = settings::open_queues(store)?;
    let items = ground
        .map(|ground| item_worker(ground, store))
        .transpose()?;
    let (mut host, tools) = match &notes {
        Some(notes) => notes.host(queues.clone()),
        None => settings::host(queues.clone(), Stance::Refuse),
    };
    let stop = stop_on_signal(STOPPING);
    host.drain = stop.clone();
    let concurrent = i32::from(args.concurrent);
    let offer = WorkerOffer {
        queues: args.queues.clone(),
        labels: args.labels.clone(),
        concurrent,
    };
    queues.offer(offer).await?;
    let served = operator.map(|operator| operator.serve(queues.clone(), stop.clone()));
    tracing::info!("worker of {}", args.queues.join(", "));
    tokio::spawn(interrupt_after(stop.clone(), args.drain));
    let has_items = items.is_some();
    let runs = Arc::new(QueuedRuns::new(host, queues.clone(), items));
    let worker = WorkerLoop {
        queues,
        runs,
        stop,
        places: usize::from(args.concurrent),
        is_once: args.once,
        workspace: notes.map(|notes| notes.dir().to_owned()),
        has_items,
    };
    worker.work().await;
    tools.stop().await;
    if let Some(served) = served {
        served.end().await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where items are worked on. Copies are whole where nothing can be mounted, which is said once.
fn item_worker(ground: &Ground, store: Option<&Path>) -> Result<Arc<ItemWorker>, CliError> {
    let workshop = Workshop::beside(&settings::store_path(store)?);
    let items = ItemWorker::open(&workshop, &ground.entered)?;
    if let Err(why) = &ground.entered {
        output::stderr(&format!("warning: copies of trees are whole: {why}"));
    }
    Ok(Arc::new(items))
}

/// Who asks whether the worker lives and can work, and reads its figures.
struct Operator {
    listener: TcpListener,
    operations: Operations,
}

/// The task that answers them.
struct OperatorTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Operator {
    /// Nothing is counted where nobody can ask. Other machines need a token to read figures.
    async fn of(args: &WorkerArgs) -> Result<Option<Self>, CliError> {
        let Some(listen) = &args.listen else {
            return Ok(None);
        };
        let addresses = serve::addresses(listen)?;
        let tokens = serve::door::metrics_tokens(args.metrics_token_file.as_deref())?;
        if tokens.is_empty() && needs_tokens(&addresses) {
            let message = format!(
                "--listen {listen} lets other machines read the figures, and there is no token"
            );
            return Err(CliError::new(Code::Usage, message)
                .hint("give one: --metrics-token-file FILE")
                .hint("or listen on this machine only: --listen 127.0.0.1:8131"));
        }
        let listener = serve::bind(&addresses, listen).await?;
        serve::report_address(serve::local_address(&listener, listen)?);
        let metrics = telemetry::measure();
        Ok(Some(Self {
            listener,
            operations: Operations { metrics, tokens },
        }))
    }

    /// It answers until the last run was handed on: who is asked must hear that the worker takes no more.
    fn serve(self, queues: Arc<PostgresStore>, stopping: CancellationToken) -> OperatorTask {
        let readiness = Readiness::new(queues.clone(), stopping);
        let stop = CancellationToken::new();
        let depths = Arc::new(Depths(queues));
        let (listener, operations) = (self.listener, self.operations);
        let serving = operations::serve(listener, operations, readiness, depths, stop.clone());
        let task = tokio::spawn(serving);
        OperatorTask { stop, task }
    }
}

impl OperatorTask {
    async fn end(self) {
        self.stop.cancel();
        // One that panicked has ended too.
        let _ended = self.task.await;
    }
}

/// The queues of a store, as they are measured.
struct Depths(Arc<PostgresStore>);

impl Queues for Depths {
    fn figures(&self) -> BoxFuture<'_, Option<Vec<QueueFigures>>> {
        Box::pin(async {
            let depths = self.0.depths().await.ok()?;
            let figures = depths.into_iter().map(|depth| QueueFigures {
                name: depth.name,
                queued: depth.queued,
                driven: depth.driven,
                oldest_s: depth.oldest_s,
            });
            Some(figures.collect())
        })
    }
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
    /// The data directory of the workspace whose notes are here.
    workspace: Option<PathBuf>,
    /// Whether items of plans are worked on here.
    has_items: bool,
}

impl WorkerLoop {
    /// Returns when it was told to stop, or has nothing left to do, and all its runs are driven to an end or handed on.
    async fn work(&self) {
        let mut driving = JoinSet::new();
        let mut missing = MissingThings::beside(self.workspace.clone(), self.has_items);
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
                () = self.queues.queued(), if has_place && !self.stop.is_cancelled() => {}
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
            driving.spawn(async move { Box::pin(runs.drive(&taken.run)).await });
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
