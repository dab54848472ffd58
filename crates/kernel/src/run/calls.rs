//! The calls of the reply that is acted upon: which is up, which are under way.

use super::{Phase, Run};

impl Run {
    /// Whether a call of the reply, from the one that is up on, was invoked and has not ended.
    pub(crate) fn is_under_way(&self, call: usize) -> bool {
        matches!(self.phase, Phase::Acting { at, under_way, .. } if (at..under_way.until).contains(&call))
    }

    pub(crate) fn has_calls_under_way(&self) -> bool {
        matches!(self.phase, Phase::Acting { at, .. } if self.is_under_way(at))
    }

    /// The place of the call that is up, from 0.
    pub(crate) fn call_up(&self) -> u32 {
        self.phase.calls().map_or(0, |(_, at)| at as u32)
    }

    pub(crate) fn is_member_up(&self) -> bool {
        self.phase.call().is_some_and(|call| call.member.is_some())
    }

    /// How many calls of the reply come after the one that is up and are answered at all.
    pub(crate) fn calls_after(&self) -> usize {
        let calls = self.phase.calls();
        calls.map_or(0, |(calls, at)| calls.len().saturating_sub(at + 1))
    }

    pub(crate) fn agents_under_way(&self) -> usize {
        let Phase::Acting { calls, .. } = &self.phase else {
            return 0;
        };
        let under_way = calls
            .iter()
            .enumerate()
            .filter(|(at, _)| self.is_under_way(*at));
        let under_way = under_way.filter(|(_, call)| call.refused.is_none());
        under_way
            .filter(|(_, call)| self.sub_agent(&call.tool).is_some())
            .count()
    }
}
