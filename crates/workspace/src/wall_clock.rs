//! The clock that schedules go by: that of the wall, with its steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bonded_kernel::Millis;
use bonded_state::BoxFuture;

use bonded_host::Clock;

/// What the machine says the time is, whatever it said before.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_millis();
        Millis(u64::try_from(since).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at - self.now());
        Box::pin(tokio::time::sleep(wait))
    }
}
