//! The engine: looks at events and at the clock, fires rules, and drives their runs.
//!
//! Three loops share a store. The matcher holds every event against the rules, the scheduler looks at schedules, and
//! both make firings durable together with how far they looked: none is missed and none is made twice, whenever the
//! process dies. The runner drives what is queued.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::engine_lead::EngineLead;
use super::engine_state::{EngineSettings, EngineState};
use super::matcher::Matcher;
use super::runner::Runner;
use super::scheduler::Scheduler;

/// Fires the rules of all workspaces of a store. There is one for each store; of several that share one on a server, one
/// works at a time.
#[derive(Clone, Debug)]
pub struct Engine(Arc<EngineState>);

impl Engine {
    /// An engine that does nothing yet.
    pub fn new(settings: EngineSettings) -> Self {
        Self(Arc::new(EngineState::new(settings)))
    }

    /// A person has judged a call here: the run that waits for it goes on at once. What was judged by another process is
    /// seen at the next look at the clock.
    pub fn judged(&self) {
        self.0.judged.notify_one();
    }

    /// Works until it is told to stop. Runs under way are let go of, not ended: whoever runs the engine next takes
    /// them up.
    pub async fn run(&self, stop: CancellationToken) {
        let lead = EngineLead::new(&self.0);
        loop {
            let until = tokio::select! {
                () = stop.cancelled() => return,
                until = lead.gained() => until,
            };
            tokio::select! {
                () = stop.cancelled() => return lead.resign().await,
                () = lead.lost(until) => {}
                () = Box::pin(self.work()) => {}
            }
        }
    }

    /// Never ends.
    async fn work(&self) {
        let shared = &self.0;
        // Before anything here moves it.
        let left_at = shared.left_at().await;
        let (tell_rules, rules) = mpsc::unbounded_channel();
        let matcher = Matcher::new(shared.clone(), tell_rules);
        let scheduler = Scheduler::new(shared.clone(), rules);
        let runner = Runner::new(shared.clone(), left_at);
        tokio::select! {
            () = Box::pin(matcher.run()) => {}
            () = Box::pin(scheduler.run()) => {}
            () = Box::pin(runner.run()) => {}
        }
    }
}
