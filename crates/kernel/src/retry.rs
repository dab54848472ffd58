//! What follows a failed attempt: another target, a wait, or the end of the turn.

use crate::event::AttemptFailed;
use crate::model::FailureClass;
use crate::time::Millis;

const BACKOFF_MS_MIN: u64 = 1_000;
const BACKOFF_MS_MAX: u64 = 60_000;

/// The attempts of the turn under way, and which targets must be left alone until when.
#[derive(Clone, Debug)]
pub(crate) struct Attempts {
    /// Begun in this turn, interrupted ones included: names the next attempt.
    begun: u32,
    /// Counted against the limit. An attempt that died with the process is not the model's fault.
    counted: u32,
    /// The target to try next, before those that are parked are passed over.
    cursor: usize,
    /// The target of the attempt under way.
    current: usize,
    targets: Vec<TargetState>,
}

#[derive(Clone, Debug, Default)]
struct TargetState {
    parked_until: Millis,
    /// Rate limits in a row: the exponent of the back-off.
    limited: u32,
    /// The request was too large for it in this turn.
    overflowed: bool,
}

/// Which target the next attempt goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Now(u32),
    /// Every target is limited: wait for the one that takes longest, as a whole cycle was refused.
    After(Millis),
    /// No target can take the request.
    Never,
}

impl Attempts {
    pub(crate) fn new(targets: usize) -> Self {
        Self {
            begun: 0,
            counted: 0,
            cursor: 0,
            current: 0,
            targets: vec![TargetState::default(); targets],
        }
    }

    pub(crate) fn next_number(&self) -> u32 {
        self.begun + 1
    }

    pub(crate) fn counted(&self) -> u32 {
        self.counted
    }

    pub(crate) fn started(&mut self, attempt: u32, target: u32) {
        self.begun = attempt;
        self.current = target as usize;
    }

    pub(crate) fn succeeded(&mut self) {
        if let Some(target) = self.targets.get_mut(self.current) {
            target.limited = 0;
        }
        self.turn_over();
    }

    pub(crate) fn turn_over(&mut self) {
        self.begun = 0;
        self.counted = 0;
        self.cursor = 0;
        for target in &mut self.targets {
            target.overflowed = false;
        }
    }

    pub(crate) fn rejected(&mut self) {
        self.counted += 1;
        self.cursor = self.current + 1;
    }

    pub(crate) fn failed(&mut self, failed: &AttemptFailed, at: Millis) {
        if failed.class == FailureClass::Interrupted {
            self.cursor = self.current;
            return;
        }
        self.rejected();
        let Some(target) = self.targets.get_mut(self.current) else {
            return;
        };
        match failed.class {
            FailureClass::RateLimit => {
                let wait_ms = failed
                    .retry_after_ms
                    .unwrap_or_else(|| backoff_ms(target.limited));
                target.limited += 1;
                target.parked_until = at.plus(wait_ms);
            }
            FailureClass::Overflow => target.overflowed = true,
            _ => {}
        }
    }

    pub(crate) fn pick(&self, now: Millis) -> Pick {
        let count = self.targets.len();
        let in_order = (0..count).map(|i| (self.cursor + i) % count);
        let usable = in_order.filter(|&i| !self.targets[i].overflowed);
        let mut longest = None;
        for index in usable {
            let until = self.targets[index].parked_until;
            if until <= now {
                return Pick::Now(index as u32);
            }
            longest = longest.max(Some(until));
        }
        longest.map_or(Pick::Never, Pick::After)
    }
}

fn backoff_ms(limited: u32) -> u64 {
    BACKOFF_MS_MIN
        .saturating_mul(1 << limited.min(16))
        .min(BACKOFF_MS_MAX)
}
