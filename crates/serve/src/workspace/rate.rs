//! How often somebody may ask.
//!
//! It keeps the time of each request within the window, which is exact and bounded by the limit. It is memory of one
//! process; where several share a store, that counts too, for all of them together.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bonded_workspace::store::WorkspaceStore;
use tokio::time::Instant;

use crate::json_api::refusal::ApiRefusal;

/// How many are remembered at once. Whoever comes when all are in use is not counted until some have gone silent: a
/// flood of new names must not cost memory without bound.
const CALLERS_MAX: usize = 16_384;

/// At most so many requests of one caller within any window of this length.
#[derive(Debug)]
pub(super) struct Rate<K> {
    /// What is counted.
    what: &'static str,
    /// In one window.
    limit: u32,
    /// Its length.
    window: Duration,
    /// The oldest first, for each caller.
    seen: Mutex<HashMap<K, VecDeque<Instant>>>,
}

impl<K: Eq + Hash> Rate<K> {
    /// Nobody was seen yet.
    pub(super) fn new(what: &'static str, limit: u32, window: Duration) -> Self {
        Self {
            what,
            limit,
            window,
            seen: Mutex::default(),
        }
    }

    /// Counts a request, or refuses it and says when the next may come.
    pub(super) async fn take(&self, store: &WorkspaceStore, caller: K) -> Result<(), ApiRefusal>
    where
        K: Display,
    {
        let name = format!("{} {caller}", self.what);
        self.take_here(caller)?;
        if !store.is_shared() {
            return Ok(());
        }
        match store.take_turn(name, self.limit, self.window).await? {
            None => Ok(()),
            Some(rest) => Err(self.refusal(rest)),
        }
    }

    /// The same for what comes to this process.
    fn take_here(&self, caller: K) -> Result<(), ApiRefusal> {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= CALLERS_MAX && !seen.contains_key(&caller) {
            seen.retain(|_, times| times.back().is_some_and(|at| now - *at < self.window));
            if seen.len() >= CALLERS_MAX {
                return Ok(());
            }
        }
        let times = seen.entry(caller).or_default();
        while times.front().is_some_and(|at| now - *at >= self.window) {
            times.pop_front();
        }
        if times.len() < self.limit as usize {
            times.push_back(now);
            return Ok(());
        }
        let waited = times.front().map_or(Duration::ZERO, |at| now - *at);
        Err(self.refusal(self.window.saturating_sub(waited)))
    }

    /// In whole seconds, rounded up.
    fn refusal(&self, rest: Duration) -> ApiRefusal {
        let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
        let window = self.window.as_secs().max(1);
        ApiRefusal::rate_limited(self.limit, window, seconds.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_window_holds_more_than_the_limit_of_one_caller() {
        let rate = Rate::new("x", 3, Duration::from_secs(1));
        for _ in 0..3 {
            assert!(rate.take_here("a").is_ok());
            tokio::time::advance(Duration::from_millis(200)).await;
        }
        let refused = rate.take_here("a").expect_err("the fourth within a second");
        assert_eq!(refused.details["retry_after_seconds"], 1);
        assert!(
            rate.take_here("b").is_ok(),
            "another caller is not affected"
        );
        tokio::time::advance(Duration::from_millis(400)).await;
        assert!(rate.take_here("a").is_ok(), "the first is a second ago");
        assert!(rate.take_here("a").is_err());
    }
}
