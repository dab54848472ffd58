//! What follows a failed attempt: another target, a wait, or the end of the turn.
//!
//! The targets are tried in turn, beginning with the first in each turn of the run. A target that limits is left alone for as
//! long as it says, one that failed for a while that doubles, one that refuses the request for the rest of the turn. Nothing
//! here waits: the time at which it may go on leaves as an effect.

use crate::config::Target;
use crate::event::AttemptFailed;
use crate::model::FailureClass;
use crate::text::Text;
use crate::time::Millis;

/// No provider means less, whatever it says: the next request would only be refused again.
pub(crate) const RETRY_AFTER_MS_MIN: u64 = 1_000;
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
    /// What the provider failed with last in this turn; a reply that was rejected is not its failure.
    fault: Option<Text>,
    /// The replies of this turn that were rejected, and the failures of its providers.
    rejections: u32,
    failures: u32,
    failed_as: Option<FailureClass>,
    /// No attempt begins before.
    retry_at: Millis,
}

#[derive(Clone, Debug, Default)]
struct TargetState {
    /// The first target that has the same key: a limit of one holds for both.
    pool: usize,
    parked_until: Millis,
    /// Rate limits in a row: the exponent of the back-off.
    limited: u32,
    /// The request was too large for it in this turn.
    overflowed: bool,
    /// Failures in a row that may be over soon: the exponent of another back-off.
    failed: u32,
    /// It refuses the request of this turn, and would again.
    refused: bool,
}

impl TargetState {
    fn is_usable(&self) -> bool {
        !self.overflowed && !self.refused
    }

    /// Leaves the target alone for this turn where it would refuse again, else for a while.
    fn leave_alone(&mut self, failed: &AttemptFailed, at: Millis, chance: u64) {
        if failed.is_final() {
            self.refused = true;
            return;
        }
        let wait_ms = with_chance(backoff_ms(self.failed), chance);
        let advised_ms = failed.retry_after_ms.unwrap_or_default();
        self.parked_until = at.plus(wait_ms.max(advised_ms));
        self.failed += 1;
    }
}

/// How a failure is borne.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bearing {
    /// The least that a provider's own advice is taken for.
    pub(crate) floor_ms: u64,
    /// Whether a target that failed is left alone for a while.
    pub(crate) backs_off: bool,
    /// Chance, of which a little is added to a wait so that runs that failed together do not come back together.
    pub(crate) chance: u64,
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
    /// `pooled` says whether targets that share a key are left alone together.
    pub(crate) fn new(targets: &[Target], pooled: bool) -> Self {
        let pool_of = |(index, target): (usize, &Target)| {
            let mut earlier = targets[..index].iter();
            let first = earlier.position(|other| pooled && target.shares_key_with(other));
            first.unwrap_or(index)
        };
        let pools = targets.iter().enumerate().map(pool_of);
        Self {
            begun: 0,
            counted: 0,
            cursor: 0,
            current: 0,
            targets: pools
                .map(|pool| TargetState {
                    pool,
                    ..TargetState::default()
                })
                .collect(),
            fault: None,
            rejections: 0,
            failures: 0,
            failed_as: None,
            retry_at: Millis::default(),
        }
    }

    /// What the provider failed with, if that is why the last attempt came to nothing.
    pub(crate) fn fault(&self) -> Option<&Text> {
        self.fault.as_ref()
    }

    pub(crate) fn next_number(&self) -> u32 {
        self.begun + 1
    }

    pub(crate) fn counted(&self) -> u32 {
        self.counted
    }

    /// The replies of this turn that were rejected.
    pub(crate) fn rejections(&self) -> u32 {
        self.rejections
    }

    /// How often a provider failed in this turn.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// How a provider failed last.
    pub(crate) fn failed_as(&self) -> Option<FailureClass> {
        self.failed_as
    }

    /// No attempt begins before a while has passed.
    pub(crate) fn hold_until(&mut self, at: Millis) {
        self.retry_at = at;
    }

    pub(crate) fn started(&mut self, attempt: u32, target: u32) {
        self.begun = attempt;
        self.current = target as usize;
    }

    pub(crate) fn succeeded(&mut self) {
        // The next turn begins with the first target, whatever became of it in this one.
        for target in self.targets.iter_mut().filter(|it| it.failed > 0) {
            (target.failed, target.parked_until) = (0, Millis::default());
        }
        self.recovered();
        self.turn_over();
    }

    /// The provider answered: it is not left alone any more.
    pub(crate) fn recovered(&mut self) {
        if let Some(pool) = self.targets.get(self.current).map(|target| target.pool) {
            let pooled = self.targets.iter_mut().filter(|other| other.pool == pool);
            pooled.for_each(|other| other.limited = 0);
        }
        if let Some(target) = self.targets.get_mut(self.current) {
            target.failed = 0;
        }
    }

    /// The provider answered, but the turn goes on with another attempt.
    pub(crate) fn answered(&mut self) {
        self.recovered();
        self.pass_on();
    }

    /// The request that failed was no attempt.
    pub(crate) fn uncount(&mut self) {
        self.counted = self.counted.saturating_sub(1);
        self.failures = self.failures.saturating_sub(1);
    }

    pub(crate) fn turn_over(&mut self) {
        self.begun = 0;
        self.counted = 0;
        self.cursor = 0;
        self.fault = None;
        self.rejections = 0;
        self.failures = 0;
        for target in &mut self.targets {
            target.overflowed = false;
            target.refused = false;
        }
    }

    pub(crate) fn some_overflowed(&self) -> bool {
        self.targets.iter().any(|target| target.overflowed)
    }

    pub(crate) fn rejected(&mut self) {
        self.rejections += 1;
        self.pass_on();
    }

    /// Whether there is another target that may take what the one under way refused.
    pub(crate) fn has_others(&self) -> bool {
        let mut others = self.targets.iter().enumerate();
        others.any(|(index, target)| index != self.current && target.is_usable())
    }

    /// The failure before taught how large the window is: what was said of it stays in mind.
    pub(crate) fn learned_window(&mut self) {
        let fault = self.fault.take();
        self.learned();
        self.fault = fault;
        if let Some(target) = self.targets.get_mut(self.current) {
            target.overflowed = false;
        }
    }

    /// The failure before taught how to ask; the same target is asked again, and it does not count.
    pub(crate) fn learned(&mut self) {
        self.counted = self.counted.saturating_sub(1);
        self.failures = self.failures.saturating_sub(1);
        self.cursor = self.current;
        self.fault = None;
        if let Some(target) = self.targets.get_mut(self.current) {
            target.refused = false;
            if target.failed > 0 {
                (target.failed, target.parked_until) = (target.failed - 1, Millis::default());
            }
        }
    }

    fn pass_on(&mut self) {
        self.counted += 1;
        self.cursor = self.current + 1;
        self.fault = None;
    }

    pub(crate) fn failed(&mut self, failed: &AttemptFailed, at: Millis, bearing: Bearing) {
        if failed.class == FailureClass::Interrupted {
            self.cursor = self.current;
            return;
        }
        self.pass_on();
        self.failures += 1;
        self.failed_as = Some(failed.class);
        self.fault = Some(failed.message.clone());
        let Some(target) = self.targets.get_mut(self.current) else {
            return;
        };
        match failed.class {
            FailureClass::RateLimit => {
                let wait_ms = failed
                    .retry_after_ms
                    .map_or_else(|| backoff_ms(target.limited), |ms| ms.max(bearing.floor_ms));
                let (pool, limited, until) = (target.pool, target.limited + 1, at.plus(wait_ms));
                let pooled = self.targets.iter_mut().filter(|other| other.pool == pool);
                // It is the limit that counts from now on, also in the next turn.
                pooled.for_each(|other| {
                    (other.limited, other.parked_until, other.failed) = (limited, until, 0);
                });
            }
            FailureClass::Overflow => target.overflowed = true,
            // What could not be read may be another text the next time.
            FailureClass::Malformed => {}
            FailureClass::Auth
            | FailureClass::Quota
            | FailureClass::Network
            | FailureClass::Timeout
            | FailureClass::Model
            | FailureClass::Interrupted => {
                if bearing.backs_off {
                    target.leave_alone(failed, at, bearing.chance);
                }
            }
        }
    }

    /// The target for the next attempt; one that the request does not fit is taken only if it fits none.
    pub(crate) fn pick(&self, now: Millis, fits: impl Fn(usize) -> bool) -> Pick {
        let fits_some = (0..self.targets.len()).any(|i| self.targets[i].is_usable() && fits(i));
        self.pick_among(now, |i| !fits_some || fits(i))
    }

    fn pick_among(&self, now: Millis, usable: impl Fn(usize) -> bool) -> Pick {
        let count = self.targets.len();
        let in_order = (0..count).map(|i| (self.cursor + i) % count);
        let usable = in_order.filter(|&i| self.targets[i].is_usable() && usable(i));
        let (mut longest, mut failed) = (None, None);
        for index in usable {
            let target = &self.targets[index];
            let until = target.parked_until.max(self.retry_at);
            if until <= now {
                return Pick::Now(index as u32);
            }
            longest = longest.max(Some(until));
            failed = failed.or((target.failed > 0).then_some(until));
        }
        // One that failed may be back; those that limit have said when.
        failed.or(longest).map_or(Pick::Never, Pick::After)
    }
}

/// Up to a quarter more.
fn with_chance(wait_ms: u64, chance: u64) -> u64 {
    wait_ms + chance % (wait_ms / 4 + 1)
}

fn backoff_ms(limited: u32) -> u64 {
    BACKOFF_MS_MIN
        .saturating_mul(1 << limited.min(16))
        .min(BACKOFF_MS_MAX)
}
