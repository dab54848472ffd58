//! The store that the real driver of a process has. What it was asked goes on when nobody waits for it any more.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Entry, Head, RunId};
use bonded_state::{Append, Ends, Holder, ListFilter, Listed, Store, StoreError};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::appending::Appender;
use super::handle::{Asking, LeaseHandle};
use super::lease_rows::QUEUED;
use super::statements::Transaction;

/// How often a run is looked at of which nobody tells.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct LeaseStore(pub(super) Arc<LeaseHandle>);

impl LeaseStore {
    fn append_as(
        &self,
        by: Appender,
        expected: Head,
        entries: Arc<[Entry]>,
    ) -> BoxFuture<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let append = Arc::new(Append::new(expected, entries)?);
            self.task(|handle| async move { handle.append(&append, by).await })
                .await
        })
    }

    fn task<T, F>(
        &self,
        begin: impl FnOnce(Arc<LeaseHandle>) -> F,
    ) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let task = begin(Arc::clone(&self.0));
        let member = Arc::clone(&self.0.member);
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            member.spawn(async move {
                // Nobody may be waiting for it any more.
                let _sent = tell.send(task.await);
            });
            told.await.unwrap_or_else(|_| Err(LeaseHandle::away()))
        })
    }
}

impl Store for LeaseStore {
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
        let id = run.clone();
        let part = move |it: &mut Transaction<'_>| {
            let log = it.rows.drives.get(&id).map(|row| &row.log)?;
            let later = log
                .iter()
                .skip(usize::try_from(after).unwrap_or(usize::MAX));
            Some(later.take(count).cloned().collect())
        };
        let unknown = StoreError::UnknownRun { run: run.clone() };
        self.task(|handle| async move {
            let found: Option<Vec<Entry>> = handle.ask_again(Asking::Read, part).await?;
            found.ok_or(unknown)
        })
    }

    fn head<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        let id = run.clone();
        self.task(|handle| async move { handle.head(&id).await })
    }

    fn changed<'a>(&'a self, run: &'a RunId, seq: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            loop {
                let mut watcher = self.0.watchers.watch(run);
                if self.head(run).await?.is_some_and(|head| head.seq > seq) {
                    return Ok(());
                }
                // Who appends in this process wakes it sooner.
                let beyond = tokio::time::timeout(LOOK, watcher.beyond(seq)).await;
                if matches!(beyond, Ok(Some(_))) {
                    return Ok(());
                }
            }
        })
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        let life = self.0.member.life;
        let list = move |it: &mut Transaction<'_>| -> Vec<Listed> {
            let prefix = filter.prefix.as_deref().unwrap_or_default();
            let drives = it.rows.drives.iter();
            let drives = drives.filter(|(run, _)| run.as_str().starts_with(prefix));
            let listed = drives.filter_map(|(run, row)| {
                let (first, last) = (row.log.first()?.clone(), row.log.last()?.clone());
                let held = match it.rows.holder(run, it.now) {
                    Some(holder) if holder.life == life => Holder::This,
                    Some(_) => Holder::Other,
                    None if row.state == QUEUED => Holder::Queue,
                    None => Holder::Nobody,
                };
                Some(Listed {
                    run: run.clone(),
                    goal: first.goal.clone(),
                    ends: Ok(Ends { first, last }),
                    held,
                })
            });
            listed.collect()
        };
        self.task(|handle| async move { handle.ask_again(Asking::Read, list).await })
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = run.clone();
        self.task(|handle| async move { handle.claim(&id).await })
    }

    fn lost<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, StoreError> {
        Box::pin(self.0.lost(run))
    }

    fn release<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = run.clone();
        self.task(|handle| async move { handle.release(&id).await })
    }
}
