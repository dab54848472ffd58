//! Calls of one reply that are executed at the same time. Their intents are recorded together, before the first of them
//! begins; what they return is recorded in the order of the calls.

use super::{Invocation, Stepper};
use crate::event::Call;
use crate::profile::LoopOp;
use crate::run::{Run, RunPhase};
use crate::tool::is_terminal;

/// So many calls are under way at most; the others of a reply wait for them.
const CALLS_MAX: usize = 64;

/// Whether nobody will hear of a call again that was invoked: its process is gone, and it must not or cannot be
/// repeated.
pub(super) fn is_lost(run: &Run, at: usize, call: &Call) -> bool {
    let RunPhase::Acting { under_way, .. } = &run.phase else {
        return false;
    };
    // It is under way at whoever asked for the run, whichever process hears what it returned.
    if run.setup.is_client_tool(&call.tool) {
        return false;
    }
    let effect = run.setup.effect_of(&call.tool);
    let may_repeat = effect.may_repeat() && Invocation::new(run, at, call).is_some();
    under_way.taken_up && !may_repeat
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
        let own = run.setup.own_tool(&call.tool).is_some();
        if own || is_terminal(&call.tool) || LoopOp::of(&call.tool).is_some() {
            return false;
        }
        // Calls that are handed out are waited for without a process: none that is executed here may be beside them.
        let is_client = |call: &Call| run.setup.is_client_tool(&call.tool);
        if together
            .iter()
            .any(|&other| is_client(&calls[other]) != is_client(call))
        {
            return false;
        }
        let mut others = together.iter().map(|&other| &calls[other]);
        let is_held = match &run.config().policy {
            None => false,
            Some(policy) => {
                let marks = others.clone().any(|it| run.setup.may_mark(policy, it));
                let reads = run.setup.effect_of(&call.tool).is_read();
                run.hold(&call.tool).is_some() || marks && !reads
            }
        };
        !is_held
            && run.scratch.has_arguments(at, call)
            && !(call.masked && is_client(call))
            && others.all(|other| run.setup.are_apart(other, call))
    }

    /// Records of the calls that are up next and lost that they are.
    pub(super) fn pass_lost(&mut self) {
        while let Some((at, call)) = self.up_and_under_way() {
            if !is_lost(self.run, at, &call) {
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
        let phase = &self.run.phase;
        let (calls, at) = phase.calls()?;
        let call = calls.get(at).filter(|_| phase.is_under_way(at));
        Some((at, call?.clone()))
    }
}
