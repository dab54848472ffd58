//! The messages format of Anthropic, as llama.cpp and some routers speak it too.

mod decode;
mod encode;
mod stream;
mod thinking;
mod turns;
mod wire;

use bonded_kernel::{Target, ThinkingForm};

use super::accepted::leave_out_choices;
use super::definition::{Definition, EVERY_IMAGE};
use super::fit::Rules;
use super::ids::{IdForm, SHORT};
use crate::address::versioned_url_under;
use decode::decode;
use encode::{encode, render_tools};
use stream::MessagesAccumulator;
use thinking::beta;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "messages";

/// The version that is spoken here.
const VERSION: &str = "2023-06-01";

const TOOLS: Rules = Rules {
    letter_first: false,
    lifted: &["$ref", "oneOf", "anyOf", "allOf"],
    wants_properties: false,
    wants_items: false,
    no_booleans: false,
    plain_patterns: false,
    plain_keys: true,
    bare_refs: false,
    soft_cycles: false,
};

const CALL_IDS: IdForm = IdForm {
    bytes_max: 64,
    is_usable: |c| c.is_ascii_alphanumeric() || c == '_' || c == '-',
    ..SHORT
};

pub(super) const DEFINITION: Definition = Definition {
    name: NAME,
    encode,
    decode,
    accumulator: || Box::<MessagesAccumulator>::default(),
    render_tools,
    tools: TOOLS,
    call_ids: |_| Some(&CALL_IDS),
    images: &EVERY_IMAGE,
    completion_url: |target: &Target| versioned_url_under(&target.endpoint, &["messages"]),
    resource_url: versioned_url_under,
    address_names_model: false,
    models_query: Some(("limit", "1000")),
    tells_window: true,
    key_header: "x-api-key",
    headers: &[("anthropic-version", VERSION)],
    beta,
    reads_signed_elsewhere: true,
    leave_out_unspoken: |accepts| {
        accepts.prompt_cache_key = false;
        leave_out_choices(accepts);
    },
    spoken,
    is_openai: false,
};

fn spoken(form: ThinkingForm) -> ThinkingForm {
    use ThinkingForm::{Adaptive, Budget, Effort, Level, None, Routed, Switch};
    match form {
        None | Adaptive | Budget => form,
        Effort | Level | Routed | Switch => Budget,
    }
}
