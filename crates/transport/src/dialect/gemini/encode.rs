//! A request as bytes.
//!
//! What the format has no field for is left out: a penalty for repetitions, a key for the cache, and whether
//! calls come one by one.

use bonded_kernel::{Accepts, Effort, Reasoning, Request, ThinkingForm, ToolChoice};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::contents::{ContentOut, contents, system};
use crate::dialect::sampling::Knobs;
use crate::dialect::settings::service_tier;
use crate::dialect::thought::{budget_of, tokens_of};
use crate::dialect::{Fitted, accepted_by};

/// The smallest budget of the models that cannot be kept from thinking.
const BUDGET_MIN: u32 = 128;

/// The body of a request, with its tools as they were rendered. The provider has no penalty for
/// repetitions of the usual kind, so that one is left out.
pub(super) fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let accepts = accepted_by(request.target);
    let knobs = Knobs::of(request, &accepts);
    let body = GeminiBody {
        system_instruction: (!request.system.is_empty()).then(|| system(request.system)),
        contents: contents(request),
        tools,
        tool_config: tools.and_then(|_| tool_config(request, &accepts)),
        generation_config: GenerationConfig {
            max_output_tokens: request.output_tokens_max,
            temperature: knobs.temperature,
            top_p: knobs.top_p,
            top_k: knobs.top_k,
            thinking_config: thinking_config(request, &accepts),
        },
        service_tier: service_tier(request.target, &accepts),
    };
    serde_json::to_vec(&body).expect("every key is a string and writing to memory does not fail")
}

pub(super) fn render_tools(tools: &[Fitted<'_>], _: bool) -> Box<RawValue> {
    let declarations: Vec<Declaration<'_>> = tools
        .iter()
        .map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.schema,
        })
        .collect();
    let tools = [Declarations {
        function_declarations: declarations,
    }];
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

/// Where a call cannot be demanded, the choice is left to the model.
fn tool_config(request: &Request<'_>, accepts: &Accepts) -> Option<ToolConfig> {
    let mode = match request.tool_choice()? {
        ToolChoice::Required if accepts.tool_choice_required => "ANY",
        ToolChoice::Required | ToolChoice::Auto => "AUTO",
    };
    Some(ToolConfig {
        function_calling_config: Mode { mode },
    })
}

/// The provider refuses a level and a budget in one request.
fn thinking_config(request: &Request<'_>, accepts: &Accepts) -> Option<ThinkingConfig> {
    let reasoning = request.target.sampling.reasoning?;
    let (thinking_level, thinking_budget) = match accepts.thinking {
        ThinkingForm::None => return None,
        ThinkingForm::Level => (level(accepts.effort(reasoning.into())?), None),
        ThinkingForm::Effort
        | ThinkingForm::Adaptive
        | ThinkingForm::Budget
        | ThinkingForm::Routed
        | ThinkingForm::Switch => (None, Some(budget(reasoning, request))),
    };
    Some(ThinkingConfig {
        thinking_budget,
        thinking_level,
        include_thoughts: tokens_of(reasoning) > 0,
    })
}

/// The models whose names say `pro` cannot be kept from thinking; they are asked for as little as they do.
fn budget(reasoning: Reasoning, request: &Request<'_>) -> u32 {
    let least = if request.target.model.contains("pro") {
        BUDGET_MIN
    } else {
        0
    };
    budget_of(reasoning, request.output_tokens_max).max(least)
}

/// `None` stands for no word at all: the service then thinks as much as it does by itself.
fn level(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::None => None,
        Effort::Minimal => Some("MINIMAL"),
        Effort::Low => Some("LOW"),
        Effort::Medium => Some("MEDIUM"),
        Effort::High | Effort::XHigh | Effort::Max => Some("HIGH"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<ContentOut<'a>>,
    contents: Vec<ContentOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: GenerationConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    include_thoughts: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: Mode,
}

#[derive(Serialize)]
struct Mode {
    mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declarations<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}
