//! A request as bytes.
//!
//! The marks for the cache stand at the end of the tools, of the system text and of the conversation without
//! its notices: these are the ends of what stays the same from one request to the next.

use bonded_kernel::{Accepts, Request, ToolChoice};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::thinking::{OutputConfig, Thinking, ThinkingFields};
use super::turns::{CacheControl, Turn, turns};
use crate::dialect::ids::Ids;
use crate::dialect::sampling::Knobs;
use crate::dialect::settings::service_tier;
use crate::dialect::{Fitted, accepted_by};

/// The body of a request, with its tools as they were rendered. While the model thinks, the provider takes
/// neither a temperature nor a duty to call a tool, so both are left out. It has no penalty for
/// repetitions.
pub(super) fn encode(request: &Request<'_>, tools: Option<&RawValue>) -> Vec<u8> {
    let target = request.target;
    let accepts = accepted_by(target);
    let ids = Ids::of(request, &accepts);
    let asked = ThinkingFields::of(request, &accepts);
    let knobs = if asked.thinks() {
        Knobs::default()
    } else {
        Knobs::of(request, &accepts)
    };
    let body = MessagesBody {
        model: &target.model,
        max_tokens: request.output_tokens_max,
        system: system(request),
        messages: turns(request, asked.takes_thoughts(), &ids),
        tools,
        tool_choice: tools.and_then(|_| tool_choice(request, &accepts, asked.thinks())),
        thinking: asked.thinking,
        output_config: asked.output,
        temperature: knobs.temperature,
        top_p: knobs.top_p,
        top_k: knobs.top_k,
        service_tier: service_tier(target, &accepts),
        stream: target.stream,
    };
    serde_json::to_vec(&body).expect("every key is a string and writing to memory does not fail")
}

/// The mark stands on the last tool and holds for all of them.
pub(super) fn render_tools(tools: &[Fitted<'_>], caching: bool) -> Box<RawValue> {
    let mut tools: Vec<MessagesToolOut<'_>> = tools
        .iter()
        .map(|tool| MessagesToolOut {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.schema,
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = CacheControl::when(caching);
    }
    to_raw_value(&tools).expect("every key is a string and writing to memory does not fail")
}

/// A text of blanks alone is refused by the service and left out.
fn system<'a>(request: &Request<'a>) -> Option<[SystemBlock<'a>; 1]> {
    (!request.system.trim().is_empty()).then(|| {
        [SystemBlock {
            kind: "text",
            text: request.system,
            cache_control: CacheControl::when(request.target.sampling.caching),
        }]
    })
}

/// That calls come one by one stands beside the choice, so that who asks for it chooses what is chosen anyway. Several at
/// a time is how the provider has it.
fn tool_choice(request: &Request<'_>, accepts: &Accepts, thinks: bool) -> Option<ToolChoiceOut> {
    let asked = request.target.sampling.parallel_tool_calls;
    let one_by_one = accepts.parallel_tool_calls && asked == Some(false);
    let default = one_by_one.then_some(ToolChoice::Auto);
    let may_demand = !thinks && accepts.tool_choice_required;
    let kind = match request.tool_choice().or(default)? {
        ToolChoice::Required if may_demand => "any",
        ToolChoice::Required | ToolChoice::Auto => "auto",
    };
    Some(ToolChoiceOut {
        kind,
        disable_parallel_tool_use: one_by_one,
    })
}

#[derive(Serialize)]
struct MessagesBody<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock<'a>; 1]>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoiceOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct ToolChoiceOut {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

#[derive(Serialize)]
struct MessagesToolOut<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}
