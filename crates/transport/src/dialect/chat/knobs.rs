//! The settings of a model, under the names that its provider has for them.

use bonded_kernel::{Reasoning, Request, Sampling, ToolChoice};
use serde::Serialize;

use crate::dialect::thought::{always_thinks, effort_of};

/// What is sent besides the conversation and the tools. What is absent is not sent.
#[derive(Default, Serialize)]
pub(super) struct Knobs {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    /// Asks a router to say what the request cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
}

#[derive(Serialize)]
struct UsageOut {
    include: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ReasoningOut {
    Effort(&'static str),
    MaxTokens(u32),
    Enabled(bool),
}

impl Knobs {
    /// OpenAI itself has no `top_k` and no penalty for repetitions of this kind, and its models that
    /// always think take no temperature: there these settings are left out, whoever set them.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let target = request.target;
        let sampling = &target.sampling;
        let common = Self {
            temperature: request.temperature.filter(|value| value.is_finite()),
            top_p: sampling.top_p.filter(|value| value.is_finite()),
            tool_choice: tool_choice(request),
            ..Self::default()
        };
        let max_tokens = Some(request.output_tokens_max);
        match target.family() {
            "openai" => {
                let fixed = always_thinks(&target.model);
                Self {
                    max_completion_tokens: max_tokens,
                    temperature: common.temperature.filter(|_| !fixed),
                    top_p: common.top_p.filter(|_| !fixed),
                    reasoning_effort: sampling.reasoning.map(effort_of),
                    ..common
                }
            }
            "openrouter" => Self {
                max_tokens,
                top_k: sampling.top_k,
                repetition_penalty: penalty(sampling),
                reasoning: sampling.reasoning.map(routed_reasoning),
                usage: Some(UsageOut { include: true }),
                ..common
            },
            provider => {
                let as_repeat = matches!(provider, "ollama" | "llamacpp" | "lmstudio");
                Self {
                    max_tokens,
                    top_k: sampling.top_k,
                    repeat_penalty: penalty(sampling).filter(|_| as_repeat),
                    repetition_penalty: penalty(sampling).filter(|_| !as_repeat),
                    reasoning_effort: sampling.reasoning.map(effort_of),
                    ..common
                }
            }
        }
    }
}

/// A choice between tools is refused where there are none.
fn tool_choice(request: &Request<'_>) -> Option<&'static str> {
    request.tools().next()?;
    Some(match request.tool_choice()? {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
    })
}

fn penalty(sampling: &Sampling) -> Option<f64> {
    sampling.repeat_penalty.filter(|value| value.is_finite())
}

fn routed_reasoning(reasoning: Reasoning) -> ReasoningOut {
    match reasoning {
        Reasoning::Off | Reasoning::Tokens(0) => ReasoningOut::Enabled(false),
        Reasoning::Tokens(tokens) => ReasoningOut::MaxTokens(tokens),
        level => ReasoningOut::Effort(effort_of(level)),
    }
}
