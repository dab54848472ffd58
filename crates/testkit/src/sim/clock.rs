//! Time in a world: tokio's paused time, which moves only when everybody waits, and sudden jumps.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_host::Clock;
use bonded_kernel::Millis;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

/// Any time will do, as long as there is room before it for a jump back.
const EPOCH_MS: u64 = 1_700_000_000_000;

/// The clock of a simulated machine. Clones show the same time.
#[derive(Clone, Debug)]
pub struct SimClock {
    since: Instant,
    jumped: Arc<Mutex<Jumped>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Jumped {
    offset_ms: i64,
    forward_ms: u64,
}

impl SimClock {
    /// Begins now. Only within a runtime whose time is paused.
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            jumped: Arc::default(),
        }
    }

    /// Sets the clock, as a person or a time server does.
    pub fn jump(&self, by_ms: i64) {
        let mut jumped = self.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        jumped.offset_ms += by_ms;
        jumped.forward_ms += u64::try_from(by_ms).unwrap_or_default();
    }

    /// How far all the jumps ahead went together.
    pub fn jumped_forward_ms(&self) -> u64 {
        self.jumped().forward_ms
    }

    fn jumped(&self) -> Jumped {
        *self.jumped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Millis {
        let passed = self.since.elapsed().as_millis() as u64;
        Millis((EPOCH_MS + passed).saturating_add_signed(self.jumped().offset_ms))
    }

    /// Sleeps as long as it looks now: a jump during the sleep makes the alarm early or late.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at - self.now());
        Box::pin(tokio::time::sleep(wait))
    }
}
