//! The chat completions format, as OpenAI, OpenRouter, LM Studio, Ollama, vLLM and llama.cpp speak it.
//!
//! It is the dialect with the most speakers and the least agreement among them, so that its readers are lenient
//! and its writer goes by what each service and model is known to take. Two things that servers should do are
//! done here where they do not: `think` and `harmony` take thoughts out of the text, and `calls` puts calls
//! together that come in pieces of every shape.

mod calls;
mod decode;
mod details;
mod encode;
mod harmony;
mod knobs;
mod messages;
mod stream;
mod think;
mod wire;

use bonded_kernel::{CallIds, Target, ThinkingForm};

use super::definition::{Definition, EVERY_IMAGE};
use super::fit::Rules;
use super::ids::{NINE, SHORT};
use crate::address::url_under;
use decode::decode;
use encode::{encode, render_tools};
use stream::ChatAccumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "chat";

/// The strictest of its many servers is OpenAI for nearly everything.
pub(super) const STRICTEST: Rules = Rules {
    letter_first: false,
    lifted: &["$ref", "oneOf", "anyOf", "allOf", "enum", "const", "not"],
    wants_properties: true,
    wants_items: true,
    no_booleans: true,
    plain_patterns: true,
    plain_keys: false,
    bare_refs: false,
    soft_cycles: false,
};

pub(super) const DEFINITION: Definition = Definition {
    name: NAME,
    encode,
    decode,
    accumulator: || Box::<ChatAccumulator>::default(),
    render_tools,
    tools: STRICTEST,
    call_ids: |accepts| match accepts.call_ids {
        CallIds::AsGiven => None,
        CallIds::Short => Some(&SHORT),
        CallIds::Nine => Some(&NINE),
    },
    images: &EVERY_IMAGE,
    completion_url: |target: &Target| url_under(&target.endpoint, &["chat", "completions"]),
    resource_url: url_under,
    address_names_model: false,
    models_query: None,
    tells_window: true,
    key_header: "authorization",
    headers: &[],
    beta: |_| None,
    reads_signed_elsewhere: false,
    leave_out_unspoken: |_| {},
    spoken,
    is_openai: true,
};

/// Gateways take an effort for models whose makers take something else.
fn spoken(form: ThinkingForm) -> ThinkingForm {
    use ThinkingForm::{Adaptive, Budget, Effort, Level, None, Routed, Switch};
    match form {
        None | Routed | Switch | Effort => form,
        Adaptive | Budget | Level => Effort,
    }
}
