//! The settings of a request as far as its model and service accept them. What is absent is not sent.

use bonded_kernel::{Accepts, Effort, Request, Target, ToolChoice};

use super::sampling::Knobs;

/// The settings that mean the same in more than one dialect.
pub(super) struct Settings<'a> {
    pub(super) sampling: Knobs,
    pub(super) effort: Option<Effort>,
    pub(super) tool_choice: Option<&'static str>,
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) prompt_cache_key: Option<&'a str>,
    pub(super) service_tier: Option<&'a str>,
}

impl<'a> Settings<'a> {
    pub(super) fn of(request: &Request<'a>, accepts: &Accepts) -> Self {
        let sampling = &request.target.sampling;
        // A choice between tools is refused where there are none.
        let has_tools = request.tools().next().is_some();
        Self {
            sampling: Knobs::of(request, accepts),
            effort: effort(request, accepts),
            tool_choice: tool_choice(request, accepts).filter(|_| has_tools),
            parallel_tool_calls: sampling
                .parallel_tool_calls
                .filter(|_| accepts.parallel_tool_calls && has_tools),
            prompt_cache_key: sampling
                .prompt_cache_key
                .as_deref()
                .filter(|_| accepts.prompt_cache_key),
            service_tier: service_tier(request.target, accepts),
        }
    }
}

/// All dialects have the field; what it may say is the service's own.
pub(super) fn service_tier<'a>(target: &'a Target, accepts: &Accepts) -> Option<&'a str> {
    let tier = target.sampling.service_tier.as_deref();
    tier.filter(|_| accepts.service_tier)
}

/// That nothing be thought can be said only to a model that has the word for it.
fn effort(request: &Request<'_>, accepts: &Accepts) -> Option<Effort> {
    let wanted = Effort::from(request.target.sampling.reasoning?);
    let nearest = accepts.effort(wanted)?;
    (wanted > Effort::None || nearest == Effort::None).then_some(nearest)
}

fn tool_choice(request: &Request<'_>, accepts: &Accepts) -> Option<&'static str> {
    match request.tool_choice()? {
        ToolChoice::Auto => Some("auto"),
        ToolChoice::Required => accepts.tool_choice_required.then_some("required"),
    }
}
