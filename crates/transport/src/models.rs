//! What is known of models and of the services that run them: tables by the model's name, by where the service is, and
//! of listed prices and windows by the exact name. A configuration counts more than they do, and what a service refuses is learned; see
//! [`Lesson`](bonded_kernel::Lesson).

mod family;
pub(crate) mod glob;
mod listed;
mod service;

use std::borrow::Cow;

use bonded_kernel::{
    Accepts, Dialect, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm,
};

pub(crate) use family::bare;
pub use family::{FAMILIES, Family};
pub use listed::{Listed, listed_by, listed_on, listed_price};
pub use service::{SERVICES, Service};

/// What the model of a target and its service accept: as the run has it, else as it is known here.
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
pub fn known_as(target: &Target, model: &str) -> Accepts {
    let mut accepts = Accepts::default();
    if let Some(family) = family(model) {
        family.describe(&mut accepts);
    }
    if let Some(service) = Service::of(target) {
        service.describe(&mut accepts, model);
    }
    leave_out_unspoken(&mut accepts, target.dialect);
    let form = spoken(accepts.thinking, target.dialect);
    if form == ThinkingForm::Effort && accepts.thinking == ThinkingForm::Budget {
        // The gateway makes a budget of it.
        accepts.efforts = vec![Effort::Low, Effort::Medium, Effort::High];
    }
    accepts.thinking = form;
    accepts
}

/// The family of a model by its name.
pub fn family(model: &str) -> Option<&'static Family> {
    Family::of(model)
}

/// How much a model takes in, where it is asked at a service: as it is listed there by this very name, else the least that
/// one of its family takes. A server of one's own has the window that it was started with.
pub fn window(endpoint: &str, model: &str) -> Option<u64> {
    Service::at(endpoint)?;
    let listed = Listed::at(endpoint, model).and_then(|listed| listed.window);
    listed.or_else(|| family(model)?.window)
}

/// What a dialect has no field for is accepted by nobody who speaks it.
fn leave_out_unspoken(accepts: &mut Accepts, dialect: Dialect) {
    match dialect {
        Dialect::Chat => return,
        Dialect::Responses => accepts.top_k = false,
        Dialect::Messages => accepts.prompt_cache_key = false,
        Dialect::Gemini => {
            accepts.prompt_cache_key = false;
            accepts.parallel_tool_calls = false;
        }
    }
    accepts.output_limit = OutputLimitField::default();
    accepts.penalty = PenaltyField::None;
}

/// A form that a dialect has no words for is not spoken there, but for what its gateways put in its place.
fn spoken(form: ThinkingForm, dialect: Dialect) -> ThinkingForm {
    use ThinkingForm::{Adaptive, Budget, Effort, Level, None, Routed, Switch};
    match (dialect, form) {
        (_, None) => None,
        (Dialect::Messages, Adaptive | Budget) => form,
        (Dialect::Messages, _) => Budget,
        (Dialect::Gemini, Level | Budget) => form,
        (Dialect::Gemini, _) => Level,
        (Dialect::Responses, _) => Effort,
        (Dialect::Chat, Routed | Switch | Effort) => form,
        // Gateways take an effort for models whose makers take something else.
        (Dialect::Chat, Adaptive | Budget | Level) => Effort,
    }
}

#[cfg(test)]
mod tests;
