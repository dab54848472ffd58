//! Calls of one reply that are executed at the same time. Their intents are recorded together, before the first of them
//! begins; what they return is recorded in the order of the calls.

use super::{Invocation, Stepper};
use crate::event::Call;
use crate::policy::Policy;
use crate::profile::LoopOp;
use crate::run::{Phase, Run};
use crate::tool::{ToolEffect, is_terminal};

/// So many calls are under way at most; the others of a reply wait for them.
const CALLS_MAX: usize = 64;

impl Run {
    /// Whether nobody will hear of a call again that was invoked: its process is gone, and it must not or cannot be
    /// repeated.
    pub(crate) fn is_lost(&self, at: usize, call: &Call) -> bool {
        let Phase::Acting { under_way, .. } = &self.phase else {
            return false;
        };
        let may_repeat =
            self.effect_of(call).may_repeat() && Invocation::new(self, at, call).is_some();
        under_way.taken_up && !may_repeat
    }

    fn effect_of(&self, call: &Call) -> ToolEffect {
        let spec = self.catalog.spec(&call.tool);
        spec.map_or(ToolEffect::Write, |spec| spec.effect)
    }

    /// Whether two calls of one reply may be executed at the same time, whichever comes first.
    fn are_apart(&self, one: &Call, other: &Call) -> bool {
        let is_agent = |call: &Call| self.sub_agent(&call.tool).is_some();
        let is_read = |call: &Call| self.effect_of(call).is_read();
        match (is_agent(one), is_agent(other)) {
            (true, true) => return true,
            // Nobody knows what an agent looks at, and it may have to be called again after it has waited.
            (true, false) => return is_read(other),
            (false, true) => return is_read(one),
            (false, false) => {}
        }
        let resource = |call: &Call| self.catalog.spec(&call.tool)?.resource.clone();
        match (resource(one), resource(other)) {
            (Some(one_of), Some(other_of)) if one_of == other_of => is_read(one) && is_read(other),
            _ => true,
        }
    }

    /// Whether what a call returns may change what the policy says of the next one.
    fn may_mark(&self, policy: &Policy, call: &Call) -> bool {
        policy.is_untrusted(&call.tool) || self.sub_agent(&call.tool).is_some()
    }
}

impl Stepper<'_> {
    /// Invokes the calls after this one that may be executed at the same time.
    pub(super) fn invoke_beside(&mut self, calls: &[Call], first: usize) {
        let may_be = self.run.profile().conduct().is_parallel;
        if !may_be || !self.run.config().edition.is_parallel() {
            return;
        }
        let mut together = vec![first];
        let later = calls.iter().enumerate().skip(first + 1);
        for (at, call) in later.filter(|(_, call)| call.refused.is_none()) {
            if together.len() >= CALLS_MAX || !self.may_join(calls, &together, at) {
                return;
            }
            self.emit_invoked(at, call);
            together.push(at);
        }
    }

    fn may_join(&self, calls: &[Call], together: &[usize], at: usize) -> bool {
        let run = &*self.run;
        let call = &calls[at];
        let own = run.config().own_tools.of(&call.tool).is_some();
        if own || is_terminal(&call.tool) || LoopOp::of(&call.tool).is_some() {
            return false;
        }
        let mut others = together.iter().map(|&other| &calls[other]);
        let is_held = match &run.config().policy {
            None => false,
            Some(policy) => {
                let marks = others.clone().any(|other| run.may_mark(policy, other));
                run.hold(&call.tool).is_some() || marks && !run.effect_of(call).is_read()
            }
        };
        !is_held && run.has_arguments(at, call) && others.all(|other| run.are_apart(other, call))
    }

    /// Records of the calls that are up next and lost that they are.
    pub(super) fn pass_lost(&mut self) {
        while let Some((at, call)) = self.up_and_under_way() {
            if !self.run.is_lost(at, &call) {
                return;
            }
            self.interrupt_call();
        }
        self.advance();
    }

    /// Records of all calls under way that nobody will hear of them.
    pub(super) fn interrupt_calls(&mut self) {
        while self.up_and_under_way().is_some() {
            self.interrupt_call();
        }
    }

    fn up_and_under_way(&self) -> Option<(usize, Call)> {
        let Phase::Acting { calls, at, .. } = &self.run.phase else {
            return None;
        };
        let call = calls.get(*at).filter(|_| self.run.is_under_way(*at));
        Some((*at, call?.clone()))
    }
}
