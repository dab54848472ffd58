//! What every store does.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_kernel::{Entry, GoalId, Head, RunId};
use futures_util::future::BoxFuture;

use crate::{Holder, PlanObjects, RunCopies, RunQueues, StoreError};

/// The log of all runs.
///
/// A run begins with an [`append`](Self::append) that expects [`Head::EMPTY`]; whoever makes it holds the
/// run and goes on appending. Whoever takes a run over calls [`claim`](Self::claim), then
/// [`load`](Self::load), then appends. Everyone may read at any time.
pub trait Store: Send + Sync {
    /// Makes `entries`, which follow `expected`, durable as one append: all of them or none. The head that
    /// is returned is that of the last entry, and it is returned only after the entries were synced.
    ///
    /// The append of a new run makes this process its holder; an append that ends a run frees it. One that has ended can be
    /// claimed again, and continues with another goal. A future
    /// that is dropped after its first poll may still append.
    ///
    /// ```
    /// # use bonded_kernel::{Catalog, Head, Millis, RunConfig, RunId, RunStarted, Target, start};
    /// # use bonded_state::{MemoryStore, Store, StoreError};
    /// # type AnyError = Box<dyn std::error::Error>;
    /// # let config = RunConfig::new("/", vec![Target::new("script", "replies.json", "m")]);
    /// # let goal = RunStarted::new("say hello".into(), "be brief".into(), config, Catalog::new([])?);
    /// # let run = RunId::new("greeting")?;
    /// # let (_, step) = start(run.clone(), Millis(1000), goal);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let store = MemoryStore::new();
    /// let head = store.append(Head::EMPTY, step.entries().clone()).await?;
    /// assert_eq!(head, step.after());
    /// # Ok::<(), AnyError>(())
    /// # })?;
    /// # Ok::<(), AnyError>(())
    /// ```
    ///
    /// An append that does not follow the log's head is refused, and the log stays as it is: somebody else was faster.
    ///
    /// ```
    /// # use bonded_kernel::{Catalog, Head, Millis, RunConfig, RunId, RunStarted, Target, start};
    /// # use bonded_state::{MemoryStore, Store, StoreError};
    /// # type AnyError = Box<dyn std::error::Error>;
    /// # let config = RunConfig::new("/", vec![Target::new("script", "replies.json", "m")]);
    /// # let goal = RunStarted::new("say hello".into(), "be brief".into(), config, Catalog::new([])?);
    /// # let run = RunId::new("greeting")?;
    /// # let (_, step) = start(run.clone(), Millis(1000), goal);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let store = MemoryStore::new();
    /// store.append(step.before(), step.entries().clone()).await?;
    /// let again = store.append(step.before(), step.entries().clone()).await;
    /// assert!(matches!(again, Err(StoreError::Conflict { .. })));
    /// assert_eq!(store.head(&run).await?, Some(step.after()));
    /// # Ok::<(), AnyError>(())
    /// # })?;
    /// # Ok::<(), AnyError>(())
    /// ```
    fn append(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>>;

    /// Appends what somebody says of a run that they do not drive: that it is cancelled, or a verdict. Where processes lose
    /// their hold of runs while they live, [`append`](Self::append) is refused to one that has lost it, and this is not.
    fn append_as_guest(
        &self,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        self.append(expected, entries)
    }

    /// The entries after sequence number `after`, in order, their chain and their blobs checked.
    ///
    /// ```
    /// # use bonded_kernel::{Catalog, Head, Millis, RunConfig, RunId, RunStarted, Target, start};
    /// # use bonded_state::{MemoryStore, Store, StoreError};
    /// # type AnyError = Box<dyn std::error::Error>;
    /// # let config = RunConfig::new("/", vec![Target::new("script", "replies.json", "m")]);
    /// # let goal = RunStarted::new("say hello".into(), "be brief".into(), config, Catalog::new([])?);
    /// # let run = RunId::new("greeting")?;
    /// # let (_, step) = start(run.clone(), Millis(1000), goal);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let store = MemoryStore::new();
    /// let head = store.append(step.before(), step.entries().clone()).await?;
    /// let log = store.load(&run, 0).await?;
    /// assert_eq!(log, step.entries().to_vec());
    /// assert!(store.load(&run, head.seq).await?.is_empty());
    /// # Ok::<(), AnyError>(())
    /// # })?;
    /// # Ok::<(), AnyError>(())
    /// ```
    fn load<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        self.load_part(run, after, usize::MAX)
    }

    /// The same, but not many more than `count` entries: whole appends only. None means that there are no
    /// more.
    fn load_part<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>>;

    /// How far a run's log goes; `None` if there is no such run.
    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>>;

    /// Resolves when the run's head is beyond `seq`, whichever process wrote it. A run that has not begun
    /// yet may be waited for.
    ///
    /// ```
    /// # use bonded_kernel::{Catalog, Head, Millis, RunConfig, RunId, RunStarted, Target, start};
    /// # use bonded_state::{MemoryStore, Store, StoreError};
    /// # type AnyError = Box<dyn std::error::Error>;
    /// # let config = RunConfig::new("/", vec![Target::new("script", "replies.json", "m")]);
    /// # let goal = RunStarted::new("say hello".into(), "be brief".into(), config, Catalog::new([])?);
    /// # let run = RunId::new("greeting")?;
    /// # let (_, step) = start(run.clone(), Millis(1000), goal);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let store = MemoryStore::new();
    /// let follower = store.another();
    /// let follow = async {
    ///     follower.changed(&run, 0).await?;
    ///     follower.load(&run, 0).await
    /// };
    /// let append = store.append(step.before(), step.entries().clone());
    /// let (log, appended) = futures_util::future::join(follow, append).await;
    /// assert_eq!(log?.len() as u64, appended?.seq);
    /// # Ok::<(), AnyError>(())
    /// # })?;
    /// # Ok::<(), AnyError>(())
    /// ```
    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The runs that pass the filter, those that started last first.
    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>>;

    /// Makes this process the run's holder; refused while another living process holds it, and where the run is set aside.
    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Resolves when this process can no longer count on holding the run, and says why: whatever it does for the run must
    /// have stopped before another process takes it over. Where a process holds its runs as long as it lives, never.
    fn lost<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, StoreError> {
        Box::pin(std::future::pending())
    }

    /// Makes something durable that leaves no trace, so that who watches a process learns whether it could append. Where
    /// nothing is kept, nothing can stand in the way.
    fn try_writing(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The queues in which runs wait for a worker, where the store has any.
    fn queues(&self) -> Option<&dyn RunQueues> {
        None
    }

    /// What the machines that work on a plan exchange, where the store has a place for it.
    fn objects(&self) -> Option<&dyn PlanObjects> {
        None
    }

    /// What copies of logs need, where the store is one to copy from and into.
    fn copies(&self) -> Option<&dyn RunCopies> {
        None
    }

    /// The files that are the store, or lie beside it on this machine: nobody else may touch them. What else belongs to the
    /// store is named after the first.
    fn files(&self) -> Vec<PathBuf> {
        vec![]
    }

    /// Frees the run if this process holds it, else does nothing.
    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Which runs to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFilter {
    /// How the run's id begins.
    pub prefix: Option<String>,
    /// How many runs at most.
    pub limit: usize,
}

impl Default for ListFilter {
    fn default() -> Self {
        Self {
            prefix: None,
            limit: usize::MAX,
        }
    }
}

/// A run as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its id.
    pub run: RunId,
    /// What it was asked, by id.
    pub goal: GoalId,
    /// One damaged log does not hide the others.
    pub ends: Result<Ends, StoreError>,
    /// Whether somebody drives it just now.
    pub held: Holder,
}

/// The first and the last entry of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// Its `run_started`.
    pub first: Entry,
    /// The newest; the same entry where there is only one.
    pub last: Entry,
}
