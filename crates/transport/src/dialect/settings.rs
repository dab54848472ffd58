//! The settings of a request as far as its model and service accept them. What is absent is not sent.

use bonded_kernel::{Accepts, Effort, Request, ToolChoice};

/// The settings that mean the same in more than one dialect.
#[derive(Debug, PartialEq)]
pub(super) struct Settings<'a> {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) effort: Option<Effort>,
    pub(super) tool_choice: Option<&'static str>,
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) prompt_cache_key: Option<&'a str>,
    pub(super) service_tier: Option<&'a str>,
}

impl<'a> Settings<'a> {
    pub(super) fn of(request: &Request<'a>, accepts: &Accepts) -> Self {
        let sampling = &request.target.sampling;
        let temperature = temperature(request, accepts);
        let alone = temperature.is_none() || accepts.temperature_with_top_p;
        // A choice between tools is refused where there are none.
        let has_tools = request.tools().next().is_some();
        Self {
            temperature,
            top_p: finite(sampling.top_p).filter(|_| accepts.top_p && alone),
            effort: effort(request, accepts),
            tool_choice: tool_choice(request, accepts).filter(|_| has_tools),
            parallel_tool_calls: sampling
                .parallel_tool_calls
                .filter(|_| accepts.parallel_tool_calls && has_tools),
            prompt_cache_key: sampling
                .prompt_cache_key
                .as_deref()
                .filter(|_| accepts.prompt_cache_key),
            service_tier: sampling
                .service_tier
                .as_deref()
                .filter(|_| accepts.service_tier),
        }
    }
}

pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn temperature(request: &Request<'_>, accepts: &Accepts) -> Option<f64> {
    let highest = accepts.temperature_max?;
    finite(request.temperature).map(|value| value.min(highest))
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
