//! Time while a process drives a run.

use crate::time::Millis;

/// Time while a process drives the run.
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    pub(crate) last_at: Millis,
    segment_start: Millis,
    earlier_ms: u64,
    /// Whether the run waits for a person or has ended: nobody drives it then.
    paused: bool,
}

impl Stopwatch {
    pub(super) fn new(at: Millis) -> Self {
        Self {
            last_at: at,
            segment_start: at,
            earlier_ms: 0,
            paused: false,
        }
    }

    pub(super) fn observe(&mut self, at: Millis) {
        self.last_at = self.last_at.max(at);
        if self.paused {
            self.segment_start = self.last_at;
        }
    }

    /// What lies between here and the next resume is not counted.
    pub(super) fn pause(&mut self) {
        self.earlier_ms += self.last_at - self.segment_start;
        self.segment_start = self.last_at;
        self.paused = true;
    }

    /// What lies between the last entry and a resume is not counted.
    pub(super) fn resume(&mut self, at: Millis) {
        self.earlier_ms += self.last_at - self.segment_start;
        self.segment_start = at.max(self.last_at);
        self.last_at = self.segment_start;
        self.paused = false;
    }

    /// Nobody drives the run from here on, and it has used so much.
    pub(super) fn end(&mut self, elapsed_ms: u64) {
        self.earlier_ms = elapsed_ms;
        self.segment_start = self.last_at;
        self.paused = true;
    }

    pub(crate) fn elapsed_ms(&self, now: Millis) -> u64 {
        if self.paused {
            return self.earlier_ms;
        }
        self.earlier_ms
            .saturating_add(now.max(self.last_at) - self.segment_start)
    }

    pub(crate) fn instant_of(&self, elapsed_ms: u64) -> Millis {
        self.segment_start
            .plus(elapsed_ms.saturating_sub(self.earlier_ms))
    }
}
