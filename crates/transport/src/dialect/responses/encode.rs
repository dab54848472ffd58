//! A request as bytes.
//!
//! Nothing is to be stored at the provider, in every request: the conversation is the run's own, and what is
//! stored elsewhere could neither be checked nor deleted from here.

use bonded_kernel::{Effort, Request, ThinkingForm};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::items::{ItemOut, items};
use crate::dialect::ids::Ids;
use crate::dialect::settings::Settings;
use crate::dialect::{Fitted, accepted_by};

/// Encrypted reasoning is given only to those who ask for it.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The body of a request, with its tools as they were rendered. The format has no `top_k` and no penalty for
/// repetitions.
pub(super) fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let accepts = accepted_by(target);
    let ids = Ids::of(request, &accepts);
    let settings = Settings::of(request, &accepts);
    let effort = settings
        .effort
        .filter(|_| accepts.thinking != ThinkingForm::None);
    let thinks = effort.map_or(accepts.thinks_unasked, |effort| effort > Effort::None);
    let body = ResponsesBody {
        model: &target.model,
        instructions: Some(request.system).filter(|system| !system.is_empty()),
        input: items(request, &ids),
        tools,
        tool_choice: settings.tool_choice,
        parallel_tool_calls: settings.parallel_tool_calls,
        max_output_tokens: request.output_tokens_max,
        temperature: settings.sampling.temperature,
        top_p: settings.sampling.top_p,
        reasoning: effort.map(ReasoningOut::of),
        // Models that do not think refuse to be asked for their thoughts.
        include: thinks.then_some([ENCRYPTED]),
        prompt_cache_key: settings.prompt_cache_key,
        service_tier: settings.service_tier,
        store: false,
        stream: target.stream,
    };
    serde_json::to_vec(&body).expect("every key is a string and writing to memory does not fail")
}

pub(super) fn render_tools(tools: &[Fitted<'_>], _: bool) -> Box<RawValue> {
    let tools: Vec<ResponsesToolOut<'_>> = tools
        .iter()
        .map(|tool| ResponsesToolOut {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.schema,
            strict: false,
        })
        .collect();
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

#[derive(Serialize)]
struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<ItemOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
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
    fn of(effort: Effort) -> Self {
        Self {
            effort: effort.as_str(),
            summary: (effort > Effort::None).then_some("auto"),
        }
    }
}

#[derive(Serialize)]
struct ResponsesToolOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}
