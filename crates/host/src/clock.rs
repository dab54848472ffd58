//! Where time comes from. The kernel is given it; tests give it their own.
//!
//! Times are milliseconds since 1970. They order entries and measure limits.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bonded_kernel::Millis;
use futures_util::future::BoxFuture;

/// A clock and its alarm.
pub trait Clock: Send + Sync {
    /// Within a process it does not run backwards: limits are measured by it.
    fn now(&self) -> Millis;
    /// At once where the moment has passed. It may wake early, so that a caller looks at the clock
    /// again.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()>;
}

/// The machine's clock: the wall clock once, then the monotonic one, so that a step of the wall clock
/// neither ends a run nor prolongs it.
#[derive(Debug)]
pub struct SystemClock {
    /// The wall clock when this clock was made.
    wall: Millis,
    since: Instant,
}

impl SystemClock {
    /// The wall clock is read here and never again.
    pub fn new() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            wall: Millis(wall.as_millis() as u64),
            since: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        self.wall.plus(self.since.elapsed().as_millis() as u64)
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at - self.now());
        Box::pin(tokio::time::sleep(wait))
    }
}
