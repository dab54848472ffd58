//! Whose turn it is to be the engine, where several processes serve one store.
//!
//! The lease is counted from before it was asked for, and less than it lasts: whoever cannot make it longer in time stops
//! before another may begin.

use std::time::Duration;

use bonded_host::Host;
use tokio::time::{Instant, sleep, timeout_at};

use super::engine_state::EngineState;
use crate::store::ENGINE_LEASE;

/// How often the lease is made longer, or asked for.
const INTERVAL: Duration = Duration::from_secs(3);

/// So much before its end the lease counts as over.
const MARGIN: Duration = Duration::from_secs(2);

/// One for each engine.
#[derive(Debug)]
pub(super) struct EngineLead<'a> {
    shared: &'a EngineState,
    holder: String,
}

impl<'a> EngineLead<'a> {
    pub(super) fn new(shared: &'a EngineState) -> Self {
        let holder = format!("{}{}", Host::draw_nonce(), Host::draw_nonce());
        Self { shared, holder }
    }

    /// Resolves when this process is the engine, with the moment up to which it is; at once where there is no other.
    pub(super) async fn gained(&self) -> Option<Instant> {
        if !self.shared.store().is_shared() {
            return None;
        }
        let mut has_told = false;
        loop {
            let asked = Instant::now();
            match self.shared.store().lead(self.holder.clone()).await {
                Ok(true) => return Some(asked + ENGINE_LEASE - MARGIN),
                Ok(false) => has_told = false,
                Err(error) if !has_told => {
                    has_told = true;
                    self.shared.tell(&format!(
                        "the lease of the engine could not be taken: {error}"
                    ));
                }
                Err(_) => {}
            }
            sleep(INTERVAL).await;
        }
    }

    /// Resolves when this process may not be the engine any more.
    pub(super) async fn lost(&self, until: Option<Instant>) {
        let Some(mut until) = until else {
            return std::future::pending().await;
        };
        loop {
            sleep(INTERVAL).await;
            let asked = Instant::now();
            let renewed = self.shared.store().lead(self.holder.clone());
            match timeout_at(until, renewed).await {
                Ok(Ok(true)) => until = asked + ENGINE_LEASE - MARGIN,
                Ok(Err(_)) if Instant::now() < until => {}
                Ok(Ok(false) | Err(_)) | Err(_) => break,
            }
        }
        self.shared
            .tell("the lease of the engine is over; another process may fire the rules now");
    }

    /// Lets another process begin at once.
    pub(super) async fn resign(&self) {
        if !self.shared.store().is_shared() {
            return;
        }
        // Whoever waits for it gets it anyway, if later.
        let _resigned = self.shared.store().resign(self.holder.clone()).await;
    }
}
