//! What several machines do with one store beside appending: runs are queued, taken, and handed on.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Entry, Head, RunId};
use bonded_state::{Append, RunQueues, StoreError, Submission};
use futures_util::future::BoxFuture;

use crate::look::QueueDepth;
use crate::offer::WorkerOffer;
use crate::queue::{Bounded, QueueState, WaitsFor};
use crate::store::PostgresStore;
use crate::take::TakenRun;
use crate::workers::WorkerRow;

impl RunQueues for PostgresStore {
    fn submit(
        &self,
        entries: Arc<[Entry]>,
        submission: Submission,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let append = Append::new(Head::EMPTY, entries)?;
            let server = Arc::clone(&self.server);
            self.ask(async move {
                let lane = server.lane(&submission).await?;
                server.submit(&append, lane, &submission).await
            })
            .await
        })
    }

    fn is_of_a_queue<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        Box::pin(self.ask(async move { server.is_of_a_queue(&run).await }))
    }

    fn wake<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        Box::pin(self.ask(async move { server.wake(&run).await }))
    }
}

impl PostgresStore {
    /// Says that this process is a worker, and what it takes. Called once, before [`take`](Self::take).
    pub async fn offer(&self, offer: WorkerOffer) -> Result<(), StoreError> {
        let server = Arc::clone(&self.server);
        // A process has one offer.
        let _first = server.offer.set(offer);
        self.ask(async move { server.as_worker().await.map(drop) })
            .await
    }

    /// Takes the next run that this worker can drive; it holds the run then. `missing` are directories and other things that it does not have.
    pub async fn take(&self, missing: Vec<String>) -> Result<Option<TakenRun>, StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.take(&missing).await }).await
    }

    /// Resolves when there may be a run to take: another process told of one, or it is time to look.
    pub async fn queued(&self) {
        let news = &self.server.news;
        tokio::select! {
            () = news.queued.notified() => {}
            () = tokio::time::sleep(news.pace()) => {}
        }
    }

    /// Queues the runs of workers that have died, and looks at everything with the next take.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.sweep().await }).await
    }

    /// Sets a run aside that was let go of because an agent that it called waits for a person.
    pub async fn park(&self, run: &RunId) -> Result<(), StoreError> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        self.ask(async move { server.park(&run).await }).await
    }

    /// Leaves a run for a while that this worker had and could not drive.
    pub async fn postpone(&self, run: &RunId, why: String, by: Duration) -> Result<(), StoreError> {
        let (server, run) = (Arc::clone(&self.server), run.clone());
        self.ask(async move { server.postpone(&run, &why, by.as_secs_f64()).await })
            .await
    }

    /// Tells others what this worker does not have.
    pub async fn lack(&self, missing: Vec<String>) -> Result<(), StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.lack(&missing).await }).await
    }

    /// Bounds how many runs of a queue or of an agent all workers together drive at once.
    pub async fn bound(
        &self,
        what: Bounded,
        name: String,
        concurrent: Option<u32>,
    ) -> Result<(), StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.bound(what, &name, concurrent).await })
            .await
    }

    /// All queues, or all agents, by name.
    pub async fn states(&self, of: Bounded) -> Result<Vec<QueueState>, StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.states(of).await }).await
    }

    /// How long each queue is, for who watches it. Asked once: an error is told at once.
    pub async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.depths().await }).await
    }

    /// What each of these runs waits for, where it is queued.
    pub async fn waits(&self, runs: Vec<RunId>) -> Result<Vec<(RunId, WaitsFor)>, StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.waits(&runs).await }).await
    }

    /// The processes that drive runs.
    pub async fn workers(&self) -> Result<Vec<WorkerRow>, StoreError> {
        let server = Arc::clone(&self.server);
        self.ask(async move { server.workers().await }).await
    }
}
