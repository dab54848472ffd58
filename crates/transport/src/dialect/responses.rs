//! The responses format of OpenAI, as llama.cpp and some routers speak it too. Nothing is stored at the
//! provider: each request carries the whole conversation, with the reasoning encrypted.

mod decode;
mod encode;
mod items;
mod stream;
mod wire;

use bonded_kernel::{Target, ThinkingForm};

use super::accepted::leave_out_choices;
use super::definition::{Definition, EVERY_IMAGE};
use super::ids::{IdForm, SHORT};
use crate::address::url_under;
use decode::decode;
use encode::{encode, render_tools};
use stream::ResponsesAccumulator;

/// What [`Reply::signed`](bonded_kernel::Reply::signed) is called here.
const NAME: &str = "responses";

const CALL_IDS: IdForm = IdForm {
    bytes_max: 64,
    ..SHORT
};

pub(super) const DEFINITION: Definition = Definition {
    name: NAME,
    encode,
    decode,
    accumulator: || Box::<ResponsesAccumulator>::default(),
    render_tools,
    tools: super::chat::STRICTEST,
    call_ids: |_| Some(&CALL_IDS),
    images: &EVERY_IMAGE,
    completion_url: |target: &Target| url_under(&target.endpoint, &["responses"]),
    resource_url: url_under,
    address_names_model: false,
    models_query: None,
    tells_window: true,
    key_header: "authorization",
    headers: &[],
    beta: |_| None,
    reads_signed_elsewhere: false,
    leave_out_unspoken: |accepts| {
        accepts.top_k = false;
        leave_out_choices(accepts);
    },
    spoken: |_| ThinkingForm::Effort,
    is_openai: true,
};
