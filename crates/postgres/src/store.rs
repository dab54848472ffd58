//! The store: a thread with a runtime of its own does all that has to do with the server.
//!
//! So a lease is renewed while the caller's runtime is busy, an append that nobody waits for any more is carried out or
//! refused and never cancelled, and a store that is dropped says that it is gone.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bonded_kernel::{Entry, Head, RunId};
use bonded_state::{
    Append, ListFilter, Listed, PlanObjects, RunCopies, RunQueues, Store, StoreError,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::address::Address;
use crate::append::Appender;
use crate::connection::ServerAccess;
use crate::keys::HeldRun;
use crate::server::Server;

/// The log of all runs on a server. Dropping it frees the runs that it holds.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) server: Arc<Server>,
    /// Where this machine keeps what belongs to the store and is not in it.
    beside: PathBuf,
    runtime: Handle,
    /// `None` while dropping.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PostgresStore {
    /// Opens the store at this address; an error if there is none, or if it cannot be used as it is.
    ///
    /// `beside` names the files that this machine keeps beside the store, as those beside a store in a file are named
    /// after it. Nothing is made there.
    pub fn open(address: Address, beside: PathBuf) -> Result<Self, StoreError> {
        Self::start(address, beside, ServerAccess::All)
    }

    /// Opens the store to look at it: one on a standby will do.
    pub fn open_to_read(address: Address, beside: PathBuf) -> Result<Self, StoreError> {
        Self::start(address, beside, ServerAccess::Read)
    }

    /// Starts the thread, and waits until it has looked at the server.
    fn start(address: Address, beside: PathBuf, access: ServerAccess) -> Result<Self, StoreError> {
        let label = PathBuf::from(address.label());
        let io = |error: std::io::Error| StoreError::Io {
            file: label.clone(),
            why: error.to_string(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().map_err(io)?;
        let handle = runtime.handle().clone();
        let server = Arc::new(Server::new(address, access)?);
        let (stop, stopped) = oneshot::channel();
        let (look, looked) = mpsc::channel();
        let served = Arc::clone(&server);
        let serve = async move {
            let first = served.connection().await.map(drop);
            // Who opens the store waits for it.
            let _sent = look.send(first);
            tokio::spawn(Arc::clone(&served).watch());
            tokio::spawn(Arc::clone(&served).listen());
            tokio::spawn(Arc::clone(&served).tell_news());
            let sending = Arc::clone(&served);
            tokio::spawn(async move {
                // Those whose group panicked are told that the store is closed; others do not wait for ever.
                let send = || AssertUnwindSafe(Arc::clone(&sending).send_groups()).catch_unwind();
                while send().await.is_err() {}
            });
            // An error says the same: the store is gone.
            let _stopped = stopped.await;
            served.retire().await;
            served.tell_last().await;
        };
        let thread = std::thread::Builder::new().name("bonded-postgres".into());
        let thread = thread.spawn(move || runtime.block_on(serve)).map_err(io)?;
        let store = Self {
            server,
            beside,
            runtime: handle,
            stop: Some(stop),
            thread: Some(thread),
        };
        match looked.recv() {
            Ok(first) => first.map(|()| store),
            Err(_) => Err(StoreError::Closed { file: label }),
        }
    }

    fn append_as(
        &self,
        by: Appender,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let append = Arc::new(Append::new(expected, entries)?);
            let server = Arc::clone(&self.server);
            self.ask(async move { server.append(&append, by).await })
                .await
        })
    }

    /// Has something done where the connections are.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.runtime.spawn(task).await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Closed {
                file: self.server.address.label().into(),
            }),
        }
    }
}

/// A method of the server, as a task of its runtime.
macro_rules! task {
    ($self:ident, $run:ident, $server:ident => $work:expr) => {{
        let $server = Arc::clone(&$self.server);
        let $run = $run.clone();
        Box::pin($self.ask(async move { $work.await }))
    }};
}

impl Store for PostgresStore {
    fn files(&self) -> Vec<PathBuf> {
        let beside = |end: &str| {
            let mut name = self.beside.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        ["", ".live", ".changes"].map(beside).into()
    }

    fn copies(&self) -> Option<&dyn RunCopies> {
        Some(self)
    }

    fn queues(&self) -> Option<&dyn RunQueues> {
        Some(self)
    }

    fn objects(&self) -> Option<&dyn PlanObjects> {
        Some(self)
    }

    fn try_writing(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let server = Arc::clone(&self.server);
        Box::pin(self.ask(async move { server.try_writing().await }))
    }

    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        self.append_as(Appender::Driver, expected, entries)
    }

    fn append_as_guest(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        self.append_as(Appender::Guest, expected, entries)
    }

    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        task!(self, run, server => server.load(&run, after, count))
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        task!(self, run, server => server.head(&run))
    }

    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let server = Arc::clone(&self.server);
        let run = run.clone();
        Box::pin(async move {
            // Who does not wait any more is not waited for.
            let task = self
                .runtime
                .spawn(async move { server.changed(&run, seq).await });
            let mut task = AbortOnDrop(task);
            match (&mut task.0).await {
                Ok(result) => result,
                Err(_) => Err(StoreError::Closed {
                    file: self.server.address.label().into(),
                }),
            }
        })
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        let server = Arc::clone(&self.server);
        Box::pin(self.ask(async move { server.list(&filter).await }))
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        task!(self, run, server => server.claim(&run))
    }

    fn lost<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, StoreError> {
        Box::pin(async move {
            if let Some(held) = self.server.held.get(run) {
                let is_held = || self.server.held.holds(run, held.worker);
                if let Err(lost) = self.server.lease.lost(run, &held, is_held).await {
                    // Whatever claim this worker had.
                    let epoch = i64::MAX;
                    self.server.lose_claim(run, &HeldRun { epoch, ..held });
                    return lost;
                }
                if held.has_ended.load(Ordering::Acquire) {
                    std::future::pending::<()>().await;
                }
            }
            // It is not held any more, and may have ended.
            let (server, id) = (Arc::clone(&self.server), run.clone());
            match self.ask(async move { server.is_over(&id).await }).await {
                Ok(true) => std::future::pending().await,
                _ => StoreError::TakenOver { run: run.clone() },
            }
        })
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        task!(self, run, server => server.release(&run))
    }
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has answered nobody, which its callers were told.
            let _joined = thread.join();
        }
    }
}
