//! Replies that hold a secret. What the model wrote is read, checked and executed; what is kept has the secret's
//! name in its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Stepper;
use crate::decode::looped::RecordedReply;
use crate::decode::{Decoded, Rejected};
use crate::event::{Answer, Call, DecisionMade, Event, SkipReason};
use crate::mask::Mask;
use crate::model::Reply;
use crate::text::Text;
use crate::tool::is_terminal;

impl Stepper<'_> {
    pub(super) fn replied_with_secrets(&mut self, reply: Reply, mask: &Mask) {
        if let Some(until) = self.run.is_summing_up() {
            let mut answer = self.answer_of(reply);
            mask_answer(&mut answer, mask);
            return self.summary_came(answer, until);
        }
        let mut decoded = self.decode(reply);
        let mut unkept = BTreeMap::new();
        match &mut decoded {
            Ok(Decoded { decision, repairs }) => {
                mask_answer(&mut decision.answer, mask);
                unkept = mask_calls(&mut decision.calls, mask);
                let texts = repairs.iter_mut().flat_map(Event::texts_mut);
                texts.for_each(|text| drop(mask_text(text, mask)));
            }
            Err(Rejected { answer, calls, .. }) => {
                mask_answer(answer, mask);
                mask_calls(calls, mask);
            }
        }
        self.emit_decoded(decoded);
        self.run.scratch.unkept = unkept;
        self.advance();
    }

    /// The same reply as a log has it. Its calls cannot be checked again where what was checked is not kept; that
    /// each names a tool of the run can.
    pub(super) fn replied_with_names(&mut self, recorded: RecordedReply) {
        let RecordedReply {
            answer,
            mut calls,
            rejected,
            repairs,
        } = recorded;
        if let Some(reason) = rejected {
            let answer = Box::new(answer);
            self.emit_decoded(Err(Rejected {
                reason,
                answer,
                calls,
            }));
            return self.advance();
        }
        calls.retain(|call| {
            call.refused.is_some() || self.run.setup.catalog.spec(&call.tool).is_some()
        });
        let masked = calls.iter().enumerate().filter(|(_, call)| call.masked);
        let unkept = masked.map(|(at, call)| (at, call.arguments.clone()));
        let unkept = unkept.collect();
        let decision = DecisionMade { answer, calls };
        self.emit_decoded(Ok(Decoded { decision, repairs }));
        self.run.scratch.unkept = unkept;
        self.advance();
    }

    /// Whether the call that is up next cannot be executed as it was written. It was passed over then.
    pub(super) fn is_unkept(&mut self, at: usize, call: &Call) -> bool {
        // Who would execute it elsewhere is told no secret, and without it the call is another one.
        let goes_out = call.masked && self.run.setup.is_client_tool(&call.tool);
        let is_whole = self.run.scratch.has_arguments(at, call) && !goes_out;
        if is_terminal(&call.tool) || is_whole {
            return false;
        }
        self.pass_unkept(at, call);
        true
    }

    pub(super) fn pass_unkept(&mut self, at: usize, call: &Call) {
        self.emit(Event::CallSkipped {
            call: at as u32,
            tool: call.tool.clone(),
            reason: SkipReason::SecretNotKept,
        });
        self.advance();
    }
}

/// What a provider wants back as it gave it is refused when it is changed, so it is kept whole or not at all.
fn mask_answer(answer: &mut Answer, mask: &Mask) {
    answer.masked = true;
    answer.signed = answer.signed.take().filter(|it| !mask.finds(it));
    mask_text(&mut answer.text, mask);
    mask_text(&mut answer.reasoning, mask);
    let names = [
        &mut answer.stop_reason,
        &mut answer.model,
        &mut answer.provider,
        &mut answer.request_id,
    ];
    names
        .into_iter()
        .flatten()
        .for_each(|it| mask_name(it, mask));
}

/// Masks calls, and gives out what those that can be executed had as arguments.
fn mask_calls(calls: &mut [Call], mask: &Mask) -> BTreeMap<usize, Text> {
    let mut unkept = BTreeMap::new();
    for (at, call) in calls.iter_mut().enumerate() {
        let names = [Some(&mut call.id), Some(&mut call.tool)];
        let originals = [call.original_id.as_mut(), call.original_tool.as_mut()];
        let names = names.into_iter().chain(originals).flatten();
        names.for_each(|it| mask_name(it, mask));
        if let Some(refusal) = &mut call.refused {
            mask_text(&mut refusal.message, mask);
            mask_text(&mut call.arguments, mask);
        } else if let Some(written) = mask_text(&mut call.arguments, mask) {
            call.masked = true;
            unkept.insert(at, written);
        }
    }
    unkept
}

/// Masks a text, and gives out what it was where that changed it.
fn mask_text(text: &mut Text, mask: &Mask) -> Option<Text> {
    mask.finds(text).then(|| {
        let masked = mask.text(text).into_owned().into();
        std::mem::replace(text, masked)
    })
}

fn mask_name(name: &mut Arc<str>, mask: &Mask) {
    if mask.finds(name) {
        *name = mask.text(name).into();
    }
}
