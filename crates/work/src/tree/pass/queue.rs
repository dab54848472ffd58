//! What is left to do in a pass, for all of its threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::fault::PassFault;
use super::job::PassJob;
use super::pending::Pending;

/// The job that came last is done first: so few directories are open at a time, however wide the tree is.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    more: Condvar,
}

/// Nothing is left when there are no jobs and none is under way: one that is may still add some.
#[derive(Debug)]
struct QueueState {
    jobs: Vec<PassJob>,
    under_way: usize,
    fault: Option<PassFault>,
}

impl Queue {
    pub(super) fn new(root: Arc<Pending>) -> Self {
        Self {
            state: Mutex::new(QueueState {
                jobs: vec![PassJob::List(root)],
                under_way: 0,
                fault: None,
            }),
            more: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, jobs: impl Iterator<Item = PassJob>) {
        let mut state = self.state();
        let before = state.jobs.len();
        state.jobs.extend(jobs);
        match state.jobs.len() - before {
            0 => {}
            1 => self.more.notify_one(),
            _ => self.more.notify_all(),
        }
    }

    /// Waits for a job. There is none when everything is done or something went wrong.
    pub(super) fn next(&self) -> Option<PassJob> {
        let mut state = self.state();
        loop {
            if state.fault.is_some() {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.under_way += 1;
                return Some(job);
            }
            if state.under_way == 0 {
                return None;
            }
            let woken = self.more.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job that [`next`](Self::next) gave out has ended.
    pub(super) fn done(&self, fault: Option<PassFault>) {
        let mut state = self.state();
        state.under_way -= 1;
        // A refusal says more than that the tree is being changed.
        let is_better = !matches!(state.fault, Some(PassFault::Refused(_)));
        if fault.is_some() && is_better {
            state.fault = fault;
        }
        if state.fault.is_some() || (state.under_way == 0 && state.jobs.is_empty()) {
            self.more.notify_all();
        }
    }

    pub(super) fn into_fault(self) -> Option<PassFault> {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).fault
    }
}
