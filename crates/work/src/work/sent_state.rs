//! The copy of an item, sent to the store after each call: another machine can go on with the run, and the one that has
//! the tree has what the run left the moment that it ends.
//!
//! A call is told as ended only when what it left is in the store. So the copy of a run whose worker is gone is, at every
//! moment, the state that was sent last, with at most those calls begun on it whose end the log does not know. Where calls
//! overlap nobody can tell what is whose until the last of them has ended, and that is what is noted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::{Hash, Invocation, RunId};
use bonded_work_rules::{Change, Node};
use tokio_util::sync::CancellationToken;

use super::save_point::{CallId, SAVED_BYTES_MAX};
use crate::exchange::{CopySeen, CopyState, Exchange, ExchangeError, contents_after};
use crate::tree::{Changed, Checkpoints, TreeCopy, TreeError};

/// How often a copy is looked at that is written to just then, and how long it is waited in between.
const LOOKS: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// How a run stops whose copy cannot be sent.
#[derive(Debug)]
pub(crate) struct StateStops {
    /// The run is let go of, for another try.
    pub(crate) interrupt: CancellationToken,
    /// The run is ended.
    pub(crate) end: CancellationToken,
}

/// Sends what is in a copy after each call.
pub(crate) struct SentStates {
    exchange: Exchange,
    checkpoints: Arc<Checkpoints>,
    run: RunId,
    before: Hash,
    under_way: Mutex<BTreeSet<CallId>>,
    /// What was sent last. Calls that end together are noted one after the other.
    last: tokio::sync::Mutex<CopySeen>,
    stops: StateStops,
    fault: Mutex<Option<ExchangeError>>,
}

impl SentStates {
    pub(crate) fn new(
        exchange: Exchange,
        checkpoints: Arc<Checkpoints>,
        (run, before): (RunId, Hash),
        last: CopySeen,
        stops: StateStops,
    ) -> Self {
        Self {
            exchange,
            checkpoints,
            run,
            before,
            under_way: Mutex::default(),
            last: tokio::sync::Mutex::new(last),
            stops,
            fault: Mutex::default(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeSet<CallId>> {
        let under_way = self.under_way.lock();
        under_way.unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the run was let go of.
    pub(crate) fn fault(&self) -> Option<ExchangeError> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take()
    }

    pub(crate) fn begin(&self, call: &Invocation) {
        self.under_way().insert(CallId::of(call));
    }

    /// Returns when what the call left is in the store. Where it cannot be sent, this does not return: the run is let go of,
    /// and the call's end is not told.
    pub(crate) async fn end(
        &self,
        call: &Invocation,
        copy: &TreeCopy,
        is_within: &(dyn Fn(&[Change]) -> bool + Sync),
    ) {
        let mut last = self.last.lock().await;
        let is_last = {
            let mut under_way = self.under_way();
            under_way.remove(&CallId::of(call));
            under_way.is_empty()
        };
        let noted = async {
            let seen = match is_last {
                true => self.seen(copy, is_within).await?,
                false => beyond_limit(copy, is_within).unwrap_or(CopySeen::UnderWay),
            };
            if *last != seen {
                *last = self.note(seen).await?;
            }
            Ok(())
        };
        if let Err(fault) = noted.await {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
            self.stops.interrupt.cancel();
            std::future::pending::<()>().await;
        }
        if matches!(*last, CopySeen::Unsent { .. }) {
            // A run whose copy cannot be sent has nothing to go on for.
            self.stops.end.cancel();
        }
    }

    /// Gives what was noted: that it cannot be, where the list is too long.
    async fn note(&self, seen: CopySeen) -> Result<CopySeen, ExchangeError> {
        let mut state = CopyState {
            run: self.run.clone(),
            before: self.before,
            seen,
        };
        if state.to_bytes().len() > CopyState::BYTES_MAX {
            let why = "the list of what the item changed is too long to be sent".to_owned();
            state.seen = CopySeen::Unsent { why };
        }
        self.exchange.leave(&state).await?;
        Ok(state.seen)
    }

    /// What is there now, when its contents have been sent. Those of a copy that has passed a limit are not needed.
    async fn seen(
        &self,
        copy: &TreeCopy,
        is_within: &(dyn Fn(&[Change]) -> bool + Sync),
    ) -> Result<CopySeen, ExchangeError> {
        let mut looks = 0;
        let (changes, git) = loop {
            match self.look(copy, is_within) {
                Err(TreeError::Busy { .. }) if looks < LOOKS => {
                    looks += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                looked => {
                    let Changed { changes, git } = looked?;
                    break (changes, git);
                }
            }
        };
        if is_within(&changes) {
            let contents = contents_after(&changes);
            let bytes: u64 = contents.values().sum();
            if bytes > SAVED_BYTES_MAX {
                let why = format!("the item changed {bytes} bytes: more than can be sent");
                return Ok(CopySeen::Unsent { why });
            }
            self.exchange
                .send_contents(&self.checkpoints, &contents)
                .await?;
        }
        Ok(CopySeen::Changed { changes, git })
    }

    /// What is different, with its contents kept here. Those that are kept already are not read again.
    fn look(
        &self,
        copy: &TreeCopy,
        is_within: &(dyn Fn(&[Change]) -> bool + Sync),
    ) -> Result<Changed, TreeError> {
        let changed = copy.changes()?;
        if is_within(&changed.changes) && sum(&changed.changes) <= SAVED_BYTES_MAX {
            let is_new = |change: &&Change| match &change.after {
                Some(Node::File { content, .. }) => !self.checkpoints.has(*content),
                Some(Node::Link { .. } | Node::Directory { .. } | Node::Special { .. }) | None => {
                    false
                }
            };
            let new: Vec<Change> = changed.changes.iter().filter(is_new).cloned().collect();
            copy.keep(&self.checkpoints, &new)?;
        }
        Ok(changed)
    }
}

/// What is in a copy that has passed a limit: that is final, whatever else is under way.
fn beyond_limit(
    copy: &TreeCopy,
    is_within: &(dyn Fn(&[Change]) -> bool + Sync),
) -> Option<CopySeen> {
    let Changed { changes, git } = copy.changes().ok()?;
    (!is_within(&changes)).then_some(CopySeen::Changed { changes, git })
}

fn sum(changes: &[Change]) -> u64 {
    contents_after(changes).values().sum()
}
