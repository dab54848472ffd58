//! A request as bytes.

use bonded_kernel::{Reasoning, Request, ToolChoice};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::contents::{ContentOut, contents, system};
use crate::dialect::Fitted;
use crate::dialect::thought::{budget_of, tokens_of};

/// The smallest budget of the models that cannot be kept from thinking.
const BUDGET_MIN: u32 = 128;

/// The body of a request, with its tools as they were rendered. The provider has no penalty for
/// repetitions of the usual kind, so that one is left out.
pub fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let sampling = &request.target.sampling;
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let body = Body {
        system_instruction: (!request.system.is_empty()).then(|| system(request.system)),
        contents: contents(request),
        tools,
        tool_config: tools.and_then(|_| tool_config(request)),
        generation_config: GenerationConfig {
            max_output_tokens: request.output_tokens_max,
            temperature: finite(request.temperature),
            top_p: finite(sampling.top_p),
            top_k: sampling.top_k,
            thinking_config: sampling
                .reasoning
                .map(|reasoning| thinking_config(reasoning, request)),
        },
    };
    serde_json::to_vec(&body).expect("every key is a string and writing to memory does not fail")
}

pub(in crate::dialect) fn render_tools(tools: &[Fitted<'_>]) -> Box<RawValue> {
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

fn tool_config(request: &Request<'_>) -> Option<ToolConfig> {
    let mode = match request.tool_choice()? {
        ToolChoice::Auto => "AUTO",
        ToolChoice::Required => "ANY",
    };
    Some(ToolConfig {
        function_calling_config: Mode { mode },
    })
}

/// The models whose names say `pro` cannot be kept from thinking; they are asked for as little as they do.
fn thinking_config(reasoning: Reasoning, request: &Request<'_>) -> ThinkingConfig {
    let least = if request.target.model.contains("pro") {
        BUDGET_MIN
    } else {
        0
    };
    ThinkingConfig {
        thinking_budget: budget_of(reasoning, request.output_tokens_max).max(least),
        include_thoughts: tokens_of(reasoning) > 0,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<ContentOut<'a>>,
    contents: Vec<ContentOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: GenerationConfig,
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
    thinking_budget: u32,
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
