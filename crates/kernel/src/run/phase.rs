//! Where a run stands between two steps, and how its calls stand while a reply is acted upon.

use std::sync::Arc;

use crate::event::{Call, Member, Reserve};
use crate::termination::Termination;

/// Where a run stands between two steps.
#[derive(Clone, Debug)]
pub(crate) enum RunPhase {
    /// A turn is over and the next has not begun. Seen only inside a step.
    Between,
    /// A turn is open and its next attempt has not begun: it waits for its target.
    Retrying,
    Asking {
        attempt: u32,
        target: u32,
        reserved: Reserve,
    },
    /// Call `at` is under way, or is the next one to be invoked.
    Acting {
        calls: Arc<[Call]>,
        at: usize,
        under_way: UnderWay,
    },
    Ended(Arc<Termination>),
}

/// Which calls of a reply were invoked and have not ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnderWay {
    /// From the call that is up to this one, but for those that were refused.
    pub(crate) until: usize,
    /// Whether a process took the run up meanwhile: what may not be repeated is lost.
    pub(crate) taken_up: bool,
}

impl RunPhase {
    /// Why the run ended, if it did.
    pub(crate) fn termination(&self) -> Option<&Termination> {
        match self {
            Self::Ended(termination) => Some(termination),
            Self::Between | Self::Retrying | Self::Asking { .. } | Self::Acting { .. } => None,
        }
    }

    /// The target that is asked.
    pub(crate) fn asked(&self) -> Option<u32> {
        match self {
            Self::Asking { target, .. } => Some(*target),
            Self::Between | Self::Retrying | Self::Acting { .. } | Self::Ended(_) => None,
        }
    }

    /// The calls that are acted upon, and the place of the one that is up.
    pub(crate) fn calls(&self) -> Option<(&Arc<[Call]>, usize)> {
        match self {
            Self::Acting { calls, at, .. } => Some((calls, *at)),
            Self::Between | Self::Retrying | Self::Asking { .. } | Self::Ended(_) => None,
        }
    }

    /// The call that is up.
    pub(crate) fn call(&self) -> Option<&Call> {
        let (calls, at) = self.calls()?;
        calls.get(at)
    }

    /// The place of the call that is up, from 0.
    pub(crate) fn call_up(&self) -> u32 {
        self.calls().map_or(0, |(_, at)| at as u32)
    }

    pub(crate) fn is_member_up(&self) -> bool {
        self.call().is_some_and(|call| call.member.is_some())
    }

    /// How many calls of the reply come after the one that is up and are answered at all.
    pub(crate) fn calls_after(&self) -> usize {
        let calls = self.calls();
        calls.map_or(0, |(calls, at)| calls.len().saturating_sub(at + 1))
    }

    /// The batch that a call is a member of.
    pub(super) fn batch_of(&self, member: &Member) -> Option<&Call> {
        let (calls, _) = self.calls()?;
        calls.iter().find(|call| call.id == member.batch)
    }

    /// Whether a call of the reply, from the one that is up on, was invoked and has not ended.
    pub(crate) fn is_under_way(&self, call: usize) -> bool {
        matches!(self, Self::Acting { at, under_way, .. } if (*at..under_way.until).contains(&call))
    }

    pub(crate) fn has_calls_under_way(&self) -> bool {
        self.calls().is_some_and(|(_, at)| self.is_under_way(at))
    }

    /// The calls that were invoked and have not ended.
    pub(super) fn calls_under_way(&self) -> impl Iterator<Item = &Call> {
        let calls = self.calls().map_or(&[][..], |(calls, _)| calls);
        let under_way = calls
            .iter()
            .enumerate()
            .filter(|(at, _)| self.is_under_way(*at));
        under_way
            .map(|(_, call)| call)
            .filter(|call| call.refused.is_none())
    }

    /// Which calls are under way; none where no reply is acted upon.
    pub(super) fn under_way(&self) -> UnderWay {
        match self {
            Self::Acting { under_way, .. } => *under_way,
            Self::Between | Self::Retrying | Self::Asking { .. } | Self::Ended(_) => {
                UnderWay::default()
            }
        }
    }

    /// The calls up to this one were invoked. Those of a process that is gone are not among them, where it is the first.
    pub(super) fn invoked(&mut self, call: u32) {
        let is_first = !self.has_calls_under_way();
        if let Self::Acting { under_way, .. } = self {
            *under_way = UnderWay {
                until: call as usize + 1,
                taken_up: under_way.taken_up && !is_first,
            };
        }
    }

    /// A process took the run up that another left.
    pub(super) fn taken_up(&mut self) {
        if let Self::Acting { under_way, .. } = self {
            under_way.taken_up = true;
        }
    }
}
