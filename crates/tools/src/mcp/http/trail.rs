//! Where a stream broke, and when it may be taken up again.

use std::time::Duration;

use reqwest::header::HeaderValue;
use sse_stream::Sse;

/// Where the server says nothing.
const PAUSE_MS: u64 = 1000;
/// A server that says 0 would otherwise be asked without a pause.
const PAUSE_MS_MIN: u64 = 10;
/// Nobody waits longer than this for a stream, whatever the server says.
const PAUSE_MS_MAX: u64 = 30_000;

#[derive(Debug, Default)]
pub(super) struct Trail {
    last_id: Option<HeaderValue>,
    retry_ms: Option<u64>,
}

impl Trail {
    pub(super) fn note(&mut self, event: &Sse) {
        if let Some(id) = &event.id {
            // What cannot be said in a header cannot be asked for.
            self.last_id = HeaderValue::from_str(id).ok().filter(|id| !id.is_empty());
        }
        self.retry_ms = event.retry.or(self.retry_ms);
    }

    /// What the server is asked to go on after.
    pub(super) fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// How long the server wants to be left alone.
    pub(super) fn pause(&self) -> Duration {
        let pause_ms = self.retry_ms.unwrap_or(PAUSE_MS);
        Duration::from_millis(pause_ms.clamp(PAUSE_MS_MIN, PAUSE_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_id_and_the_last_pause_count_within_bounds() {
        let mut trail = Trail::default();
        assert_eq!((trail.last_id(), trail.pause().as_millis()), (None, 1000));
        for (event, id, pause_ms) in [
            (Sse::default().data("x"), None, 1000),
            (Sse::default().id("7").retry(500), Some("7"), 500),
            (Sse::default().data("y"), Some("7"), 500),
            (Sse::default().retry(0), Some("7"), 10),
            (Sse::default().id("8").retry(u64::MAX), Some("8"), 30_000),
            (Sse::default().id("a\u{7f}"), None, 30_000),
            (Sse::default().id("9"), Some("9"), 30_000),
            (Sse::default().id(""), None, 30_000),
        ] {
            trail.note(&event);
            let last = trail.last_id().map(|id| id.to_str().expect("it is ASCII"));
            assert_eq!(
                (last, trail.pause().as_millis()),
                (id, pause_ms),
                "{event:?}"
            );
        }
    }
}
