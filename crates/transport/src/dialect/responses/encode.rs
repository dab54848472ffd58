//! A request as bytes.

use bonded_kernel::{Reasoning, Request, ToolChoice};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::items::{ItemOut, items};
use crate::dialect::Fitted;
use crate::dialect::thought::{always_thinks, effort_of, tokens_of};

/// Encrypted reasoning is given only to those who ask for it.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The body of a request, with its tools as they were rendered. The provider has no `top_k` and no penalty
/// for repetitions, and its models that always think take no temperature: these are left out.
pub fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let sampling = &target.sampling;
    let fixed = always_thinks(&target.model);
    let thinks = match sampling.reasoning {
        Some(reasoning) => tokens_of(reasoning) > 0,
        None => fixed,
    };
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite() && !fixed);
    let body = Body {
        model: &target.model,
        instructions: Some(request.system).filter(|system| !system.is_empty()),
        input: items(request),
        tools,
        tool_choice: tools.and_then(|_| tool_choice(request)),
        max_output_tokens: request.output_tokens_max,
        temperature: finite(request.temperature),
        top_p: finite(sampling.top_p),
        reasoning: sampling.reasoning.map(ReasoningOut::of),
        // Models that do not think refuse to be asked for their thoughts.
        include: thinks.then_some([ENCRYPTED]),
        store: false,
        stream: target.stream,
    };
    serde_json::to_vec(&body).expect("every key is a string and writing to memory does not fail")
}

pub(in crate::dialect) fn render_tools(tools: &[Fitted<'_>]) -> Box<RawValue> {
    let tools: Vec<ToolOut<'_>> = tools
        .iter()
        .map(|tool| ToolOut {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.schema,
            strict: false,
        })
        .collect();
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

fn tool_choice(request: &Request<'_>) -> Option<&'static str> {
    Some(match request.tool_choice()? {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<ItemOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    store: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct ReasoningOut {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl ReasoningOut {
    fn of(reasoning: Reasoning) -> Self {
        Self {
            effort: effort_of(reasoning),
            summary: (tokens_of(reasoning) > 0).then_some("auto"),
        }
    }
}

#[derive(Serialize)]
struct ToolOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}
