//! The settings of a model, under the names that its service has for them.
//!
//! What a service does not take is left out and not sent in hope: many refuse a whole request for one field
//! that they do not know. Where it takes the same thing under another name, that name is used.

use bonded_kernel::{
    Accepts, Effort, OutputLimitField, PenaltyField, Reasoning, Request, ThinkingForm,
};
use serde::Serialize;

use crate::dialect::settings::Settings;

/// What is sent besides the conversation and the tools. What is absent is not sent.
#[derive(Default, Serialize)]
pub(super) struct Knobs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(flatten)]
    thinking: Thinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
}

impl<'a> Knobs<'a> {
    /// Each pair of names is filled on one side at most: the service's `Accepts` says on which.
    pub(super) fn of(request: &Request<'a>, accepts: &Accepts) -> Self {
        let sampling = &request.target.sampling;
        let settings = Settings::of(request, accepts);
        let limit = |field| (accepts.output_limit == field).then_some(request.output_tokens_max);
        let penalty = sampling.repeat_penalty.filter(|value| value.is_finite());
        let penalty = |field| penalty.filter(|_| accepts.penalty == field);
        Self {
            max_tokens: limit(OutputLimitField::MaxTokens),
            max_completion_tokens: limit(OutputLimitField::MaxCompletionTokens),
            temperature: settings.sampling.temperature,
            top_p: settings.sampling.top_p,
            top_k: settings.sampling.top_k,
            repetition_penalty: penalty(PenaltyField::RepetitionPenalty),
            repeat_penalty: penalty(PenaltyField::RepeatPenalty),
            thinking: Thinking::of(accepts.thinking, sampling.reasoning, settings.effort),
            tool_choice: settings.tool_choice,
            parallel_tool_calls: settings.parallel_tool_calls,
            prompt_cache_key: settings.prompt_cache_key,
            service_tier: settings.service_tier,
        }
    }
}

/// How thoughts are asked for.
///
/// One of the three is filled at most, but that an effort may stand beside a switch.
#[derive(Default, Serialize)]
struct Thinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Routed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Switch>,
}

/// A router takes one of these and translates it for the provider behind it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Routed {
    Effort(&'static str),
    MaxTokens(u32),
    Enabled(bool),
}

/// Models that can only be told whether to think.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Switch {
    Enabled,
    Disabled,
}

impl Thinking {
    /// `effort` is what the model has a word for of what was asked for.
    fn of(form: ThinkingForm, asked: Option<Reasoning>, effort: Option<Effort>) -> Self {
        let Some(asked) = asked else {
            return Self::default();
        };
        match form {
            ThinkingForm::None => Self::default(),
            ThinkingForm::Routed => Self {
                reasoning: effort.map(|effort| Routed::of(asked, effort)),
                ..Self::default()
            },
            ThinkingForm::Switch => Self::switched(Effort::from(asked), effort),
            // A gateway turns the effort into whatever the model behind it takes.
            ThinkingForm::Effort
            | ThinkingForm::Adaptive
            | ThinkingForm::Budget
            | ThinkingForm::Level => Self {
                reasoning_effort: effort.map(Effort::as_str),
                ..Self::default()
            },
        }
    }

    /// Where thoughts are switched on, an effort may stand beside it.
    fn switched(asked: Effort, effort: Option<Effort>) -> Self {
        let (switch, effort) = match asked {
            Effort::None => (Switch::Disabled, None),
            Effort::Minimal
            | Effort::Low
            | Effort::Medium
            | Effort::High
            | Effort::XHigh
            | Effort::Max => (Switch::Enabled, effort),
        };
        Self {
            thinking: Some(switch),
            reasoning_effort: effort.map(Effort::as_str),
            ..Self::default()
        }
    }
}

impl Routed {
    /// That nothing be thought is said as a switch. A number of tokens goes through as it is, since the router
    /// takes those too.
    fn of(asked: Reasoning, effort: Effort) -> Self {
        match (asked, effort) {
            (_, Effort::None) => Self::Enabled(false),
            (Reasoning::Tokens(tokens), _) => Self::MaxTokens(tokens),
            (_, effort) => Self::Effort(effort.as_str()),
        }
    }
}
