//! How long a run waits for its client.
//!
//! A run whose calls were handed out is let go of: it takes no place and no thread, and lies in the store until its client
//! brings the results. The wait may take what is left of the run's time; then the run ends as one whose time was over. A
//! server that starts gives the runs that it finds waiting the same time again, because nobody measured the time before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_host::shapes::listing;
use bonded_host::{Status, waits_for_client};
use bonded_kernel::{Run, RunId};
use bonded_state::ListFilter;
use tokio::task::AbortHandle;

use super::runs::Runs;

/// Between looks at a run that could not be ended.
const PAUSE: Duration = Duration::from_secs(5);
/// The clock of the log and that of this wait are not the same.
const MARGIN: Duration = Duration::from_millis(20);

/// The waits that are bounded, one for each run.
#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<BTreeMap<RunId, (u64, AbortHandle)>>);

impl Waits {
    /// Whether the wait behind this entry of a run's log is bounded already. To ask again does not make it longer.
    fn has(&self, run: &RunId, seq: u64) -> bool {
        self.lock().get(run).is_some_and(|(at, _)| *at == seq)
    }

    /// The wait before it is over: its run went on meanwhile.
    fn keep(&self, run: RunId, seq: u64, wait: AbortHandle) {
        if let Some((_, before)) = self.lock().insert(run, (seq, wait)) {
            before.abort();
        }
    }

    /// Nobody waits any more.
    fn forget(&self, run: &RunId) {
        if let Some((_, wait)) = self.lock().remove(run) {
            wait.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, (u64, AbortHandle)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runs {
    /// Ends a run that waits for its client once its time is over, unless it goes on before.
    pub(super) fn bound_wait(self: &Arc<Self>, run: &Run) {
        let Some(left_ms) = left_ms(run).filter(|_| waits_for_client(run)) else {
            return self.waits.forget(run.id());
        };
        if self.waits.has(run.id(), run.head().seq) {
            return;
        }
        // The server may end meanwhile: a wait does not keep its store open.
        let (runs, id, seq) = (Arc::downgrade(self), run.id().clone(), run.head().seq);
        let waiting = tokio::spawn(async move {
            let mut pause = Duration::from_millis(left_ms).saturating_add(MARGIN);
            loop {
                tokio::time::sleep(pause).await;
                let Some(runs) = runs.upgrade() else { return };
                if runs.is_over(&id, seq).await {
                    return runs.waits.forget(&id);
                }
                pause = PAUSE;
            }
        });
        self.waits
            .keep(run.id().clone(), seq, waiting.abort_handle());
    }

    /// Whether a wait is over: the run went on, or it ended, at the latest by this.
    async fn is_over(&self, id: &RunId, seq: u64) -> bool {
        let host = self.host();
        match host.store.head(id).await {
            Ok(Some(head)) if head.seq == seq => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
        match host.end_if_late(id).await {
            Ok(run) => run.termination().is_some(),
            Err(error) => {
                tracing::error!("run {id} cannot be ended: {error}");
                false
            }
        }
    }

    /// The same for the runs that wait when the server begins.
    pub(super) fn bound_earlier_waits(self: &Arc<Self>) {
        let runs = self.clone();
        tokio::spawn(async move {
            let store = runs.store();
            let Ok(listed) = store.list(ListFilter::default()).await else {
                return;
            };
            for one in &listed {
                if listing::status(&*store, one).await == Some(Status::AwaitingClient)
                    && let Ok(run) = runs.host().load(&one.run).await
                {
                    runs.bound_wait(&run);
                }
            }
        });
    }
}

/// What is left of the run's time; `None` where that has no limit.
fn left_ms(run: &Run) -> Option<u64> {
    let max = run.config().limits.elapsed_ms_max?;
    Some(max.saturating_sub(run.elapsed_ms()))
}
