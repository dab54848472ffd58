//! Calls that the policy holds back, and what a person says of them.

use super::Stepper;
use crate::event::{Call, CallReviewed, Event};
use crate::hash::Hash;
use crate::policy::Verdict;
use crate::run::{Hold, Review};
use crate::text::Text;

/// A reason is shown to the model: long enough to help, short enough not to flood.
const REASON_CHARS_MAX: usize = 500;

impl Stepper<'_> {
    /// Whether the call that is up next must not be executed now. It waits then, or was passed over.
    pub(super) fn is_held(&mut self, at: usize, held: &Call) -> bool {
        match self.run.oversight.review {
            Review::Approved => return false,
            Review::Asked { .. } => return true,
            Review::None => {}
        }
        let (call, tool) = (at as u32, held.tool.clone());
        match self.run.hold(&tool) {
            None => false,
            // Nobody drives a run that waits: what is not kept would be gone when it is approved.
            Some(Hold::Ask(_)) if held.masked => {
                self.pass_unkept(at, held);
                true
            }
            Some(Hold::Ask(why)) => {
                let why = why.into();
                self.emit(Event::ReviewAsked { call, tool, why });
                true
            }
            Some(Hold::Skip(reason)) => {
                self.emit(Event::CallSkipped { call, tool, reason });
                self.advance();
                true
            }
        }
    }

    /// Records what a person said. Whoever drives the run next acts upon it: who gives a verdict need not
    /// drive, and a call that was approved is not yet one that has begun.
    pub(super) fn reviewed(
        &mut self,
        place: (u32, u32),
        digest: Option<Hash>,
        verdict: Verdict,
        by: String,
    ) {
        let waiting = self.run.waiting_call();
        let waiting = waiting.filter(|it| (it.turn, it.call) == place);
        let is_meant = |seen: Hash| digest.is_none_or(|digest| digest == seen);
        let Some(waiting) = waiting.filter(|it| is_meant(it.digest)) else {
            return;
        };
        let verdict = match verdict {
            Verdict::Approved => Verdict::Approved,
            Verdict::Denied { reason } => Verdict::Denied {
                reason: shortened(&reason),
            },
        };
        self.emit(Event::CallReviewed(Box::new(CallReviewed {
            call: waiting.call,
            tool: waiting.tool,
            verdict,
            digest,
            by: by.into(),
        })));
    }
}

fn shortened(reason: &Text) -> Text {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &reason[..cut]).into(),
        None => reason.clone(),
    }
}
