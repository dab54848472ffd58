//! How long to wait before a server is started again.

use std::time::Duration;

/// In seconds. The last one holds for all falls that follow.
const DELAYS_S: [u64; 7] = [0, 1, 2, 5, 10, 30, 60];

/// Counts the falls since the server last answered something. The first restart is at once.
///
/// A server that crashes on every call would otherwise be started as fast as a model can ask.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    falls: usize,
}

impl Backoff {
    /// The server is down. Returns how long to wait before it is started.
    pub(super) fn fell(&mut self) -> Duration {
        let delay_s = DELAYS_S[self.falls.min(DELAYS_S.len() - 1)];
        self.falls = self.falls.saturating_add(1);
        Duration::from_secs(delay_s)
    }

    pub(super) fn answered(&mut self) {
        self.falls = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_minute_and_begin_anew_after_an_answer() {
        let mut backoff = Backoff::default();
        for delay_s in [0, 1, 2, 5, 10, 30, 60, 60, 60] {
            assert_eq!(backoff.fell().as_secs(), delay_s);
        }
        backoff.answered();
        assert_eq!(backoff.fell().as_secs(), 0);
        assert_eq!(backoff.fell().as_secs(), 1);
    }
}
