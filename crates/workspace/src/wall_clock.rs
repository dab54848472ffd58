//! The clock that schedules go by: that of the wall, with its steps.
//!
//! It may jump in both directions; those who use it for schedules are made for that, and sleep in bounded naps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bonded_kernel::Millis;

use bonded_host::Clock;
use futures_util::future::BoxFuture;

/// What the machine says the time is, whatever it said before.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    /// Zero where the clock stands before 1970.
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_millis();
        Millis(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Measured once: a clock that is set while it sleeps does not change how long it sleeps.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at - self.now());
        Box::pin(tokio::time::sleep(wait))
    }
}
