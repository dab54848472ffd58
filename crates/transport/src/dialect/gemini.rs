//! The generateContent format of Google.

mod contents;
mod decode;
mod encode;
mod stream;
mod wire;

use bonded_kernel::{Failure, ImageFormat, Target, ThinkingForm};
use url::Url;

use super::accepted::leave_out_choices;
use super::definition::Definition;
use super::fit::Rules;
use crate::address::url_under;
use decode::decode;
use encode::{encode, render_tools};
use stream::GeminiAccumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "gemini";

/// `parametersJsonSchema` takes nearly everything, but ignores `allOf`: what only stands there would not be seen.
const TOOLS: Rules = Rules {
    letter_first: true,
    lifted: &["$ref", "oneOf", "anyOf", "allOf"],
    wants_properties: false,
    wants_items: false,
    no_booleans: true,
    plain_patterns: false,
    plain_keys: false,
    bare_refs: true,
    soft_cycles: true,
};

pub(super) const DEFINITION: Definition = Definition {
    name: NAME,
    encode,
    decode,
    accumulator: || Box::<GeminiAccumulator>::default(),
    render_tools,
    tools: TOOLS,
    // It is told only the ids that it gave.
    call_ids: |_| None,
    images: &[ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp],
    completion_url,
    resource_url: url_under,
    address_names_model: true,
    models_query: Some(("pageSize", "1000")),
    tells_window: false,
    key_header: "x-goog-api-key",
    headers: &[],
    beta: |_| None,
    reads_signed_elsewhere: false,
    leave_out_unspoken: |accepts| {
        accepts.prompt_cache_key = false;
        accepts.parallel_tool_calls = false;
        leave_out_choices(accepts);
    },
    spoken,
    is_openai: false,
};

/// The address says what is to be done with which model.
fn completion_url(target: &Target) -> Result<Url, Failure> {
    let model = target.model.as_str();
    let model = model.strip_prefix("models/").unwrap_or(model);
    let verb = if target.stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    let mut url = url_under(&target.endpoint, &["models", &format!("{model}:{verb}")])?;
    if target.stream {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok(url)
}

fn spoken(form: ThinkingForm) -> ThinkingForm {
    use ThinkingForm::{Adaptive, Budget, Effort, Level, None, Routed, Switch};
    match form {
        None | Level | Budget => form,
        Adaptive | Effort | Routed | Switch => Level,
    }
}
