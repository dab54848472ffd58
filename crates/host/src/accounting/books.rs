//! The accounts of a run and of all agents that it calls, as their logs grow.
//!
//! The logs form a tree: an entry that invokes an agent opens the log of that agent's run. Each log is
//! read from where the last look ended, and is put away once its run has ended, so that a long watch
//! costs what is new and not what has been.

use std::sync::Arc;

use bonded_kernel::{Event, Hash, RunConfig, RunId};
use bonded_state::{Store, StoreError};
use futures_util::future::select_all;

use super::{Account, Bookkeeper};

/// An account, and the run that it belongs to.
#[derive(Clone, Debug)]
pub struct Booked {
    /// The run whose log it stands in: the one that was asked for, or an agent below it.
    pub run: RunId,
    /// What that run was started with, shared by all of its accounts.
    pub config: Arc<RunConfig>,
    /// The account itself.
    pub account: Account,
    /// The hash of the entry that settled it.
    pub hash: Hash,
    /// Whether the run has it from the one that it was forked from: nothing was paid for it again.
    pub is_taken_over: bool,
}

/// Reads accounts from the logs of a run and of the agents that it calls, each once: wait until a log has
/// [`changed`](Self::changed), then [`take`](Self::take) what is new.
#[derive(Debug)]
pub struct Books {
    /// The runs that have not ended, in the order in which they were met.
    open: Vec<RunPage>,
}

/// How far the log of one run was read.
#[derive(Debug)]
struct RunPage {
    run: RunId,
    /// The last entry that was read, so that the next read begins behind it.
    after: u64,
    books: Bookkeeper,
    /// Whether the last that was read is its end: nobody waits for what may follow another goal.
    has_ended: bool,
}

impl RunPage {
    fn new(run: RunId) -> Self {
        Self {
            run,
            after: 0,
            books: Bookkeeper::default(),
            has_ended: false,
        }
    }
}

impl Books {
    /// The run need not have begun.
    pub fn new(run: RunId) -> Self {
        Self {
            open: vec![RunPage::new(run)],
        }
    }

    /// Resolves when one of the logs goes on; never, once all of the runs have ended.
    ///
    /// One log is enough: whoever is woken takes what is new of all of them.
    pub async fn changed(&self, store: &dyn Store) -> Result<(), StoreError> {
        if self.open.is_empty() {
            return std::future::pending().await;
        }
        let open = self.open.iter();
        let (changed, ..) = select_all(open.map(|it| store.changed(&it.run, it.after))).await;
        changed
    }

    /// The accounts that were settled since the last time, those of each run in the order of its log.
    ///
    /// A run that a call has named and that has not begun yet stays open, and is looked at again the
    /// next time.
    pub async fn take(&mut self, store: &dyn Store) -> Result<Vec<Booked>, StoreError> {
        let mut booked = vec![];
        let mut at = 0;
        // Reading a page may open another one.
        while at < self.open.len() {
            let called = read(store, &mut self.open[at], &mut booked).await?;
            self.open.extend(called.into_iter().map(RunPage::new));
            at += 1;
        }
        self.open.retain(|page| !page.has_ended);
        Ok(booked)
    }
}

/// Reads what is new of one run; gives the runs that it has called.
async fn read(
    store: &dyn Store,
    page: &mut RunPage,
    booked: &mut Vec<Booked>,
) -> Result<Vec<RunId>, StoreError> {
    if store.head(&page.run).await?.is_none() {
        return Ok(vec![]);
    }
    let mut called = vec![];
    for entry in store.load(&page.run, page.after).await?.iter() {
        let accounts = page.books.take(entry);
        called.extend(page.books.child(entry));
        page.after = entry.seq;
        page.has_ended = matches!(entry.event, Event::RunEnded(_));
        let Some(config) = &page.books.config else {
            continue;
        };
        booked.extend(accounts.into_iter().map(|account| Booked {
            run: page.run.clone(),
            config: config.clone(),
            hash: entry.hash,
            is_taken_over: account.seq <= page.books.taken_over,
            account,
        }));
    }
    Ok(called)
}

/// The accounts of a run and of all agents that it called, in the order in which things began.
pub async fn accounts(store: &dyn Store, run: &RunId) -> Result<Vec<Booked>, StoreError> {
    let mut booked = Books::new(run.clone()).take(store).await?;
    booked.sort_by_key(|it| it.account.at);
    Ok(booked)
}
