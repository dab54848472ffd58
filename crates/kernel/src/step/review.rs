//! Calls that the policy holds back, and what a person says of them.

use super::Stepper;
use crate::event::{CallReviewed, Event};
use crate::policy::{Hold, Review, Verdict};
use crate::text::Text;

/// A reason is shown to the model: long enough to help, short enough not to flood.
const REASON_CHARS_MAX: usize = 500;

impl Stepper<'_> {
    /// Whether the call that is up next must not be executed now. It waits then, or was passed over.
    pub(super) fn is_held(&mut self, at: usize, tool: &std::sync::Arc<str>) -> bool {
        match self.run.review {
            Review::Approved => return false,
            Review::Asked { .. } => return true,
            Review::None => {}
        }
        let (call, tool) = (at as u32, tool.clone());
        match self.run.hold(&tool) {
            None => false,
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
    pub(super) fn reviewed(&mut self, turn: u32, call: u32, verdict: Verdict, by: String) {
        let waiting = self.run.waiting_call();
        let Some(waiting) = waiting.filter(|it| (it.turn, it.call) == (turn, call)) else {
            return;
        };
        let verdict = match verdict {
            Verdict::Approved => Verdict::Approved,
            Verdict::Denied { reason } => Verdict::Denied {
                reason: shortened(&reason),
            },
        };
        self.emit(Event::CallReviewed(Box::new(CallReviewed {
            call,
            tool: waiting.tool,
            verdict,
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
