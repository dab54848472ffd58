//! What a target accepts, as far as its dialect has words for it.
//!
//! Knowledge is laid in four layers: the defaults, the family of the model, the service that runs it, and at
//! last the dialect, which takes away what it has no field for. A run may bring its own, which it has from a
//! configuration or from what the service refused, and then nothing here is asked.

use std::borrow::Cow;

use bonded_kernel::{Accepts, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm};

use crate::models::{self, Service};

/// What the model of a target and its service accept: as the run has it, else as it is known here.
///
/// What a run has is borrowed and counts whole: nothing of the tables is mixed into it.
pub fn accepted_by(target: &Target) -> Cow<'_, Accepts> {
    match &target.accepts {
        Some(accepts) => Cow::Borrowed(accepts),
        None => Cow::Owned(known(target)),
    }
}

/// What is known here of a target's model and service.
pub fn known(target: &Target) -> Accepts {
    known_as(target, &target.model)
}

/// What is known here of a target whose model goes by another name there.
///
/// The order of the layers is the order of the lines: each may overrule those before it.
pub fn known_as(target: &Target, model: &str) -> Accepts {
    let mut accepts = Accepts::default();
    if let Some(family) = models::family(model) {
        family.describe(&mut accepts);
    }
    if let Some(service) = Service::of(target) {
        service.describe(&mut accepts, model);
    }
    let definition = super::of(target.dialect);
    (definition.leave_out_unspoken)(&mut accepts);
    let form = match accepts.thinking {
        ThinkingForm::None => ThinkingForm::None,
        form => (definition.spoken)(form),
    };
    if form == ThinkingForm::Effort && accepts.thinking == ThinkingForm::Budget {
        // The gateway makes a budget of it.
        accepts.efforts = vec![Effort::Low, Effort::Medium, Effort::High];
    }
    accepts.thinking = form;
    accepts
}

/// What only chat completions have a choice of: how a limit is called, and a penalty for repetitions.
pub(super) fn leave_out_choices(accepts: &mut Accepts) {
    accepts.output_limit = OutputLimitField::default();
    accepts.penalty = PenaltyField::None;
}
