//! How long a server that is away is waited for: one that fails over is back before a lease has ended.

use std::time::Duration;

use bonded_state::StoreError;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_millis(50);

/// How long to try, and since when.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
}

impl Patience {
    pub(crate) fn of(length: Duration) -> Self {
        Self {
            until: Instant::now() + length,
        }
    }

    /// Whether it is worth another try, after a pause.
    pub(crate) async fn bears(&self, error: &StoreError) -> bool {
        let is_worth_it = error.may_pass() && Instant::now() < self.until;
        if is_worth_it {
            tokio::time::sleep(PAUSE).await;
        }
        is_worth_it
    }

    /// Does something that may be done twice until it is done, or fails for another reason.
    pub(crate) async fn with<T, F>(self, mut once: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match once().await {
                Err(error) if self.bears(&error).await => {}
                done => return done,
            }
        }
    }
}
