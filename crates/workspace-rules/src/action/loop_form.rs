//! The form of the action `kjxlkj_agent`, for its reader and for editors.

use bonded_kernel::{FormKind, FormRow, Measure, form_schema, words};
use serde_json::{Value, json};

use super::path::PATH;
use super::rule_action::{KIND, REQUEST};
use crate::prompt_file::MODES;
use crate::scope;

/// The longest delay between two loops, in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The longest that one request to the model may be allowed to take, in milliseconds.
const TIMEOUT_MS_MAX: u64 = 60 * 60 * 1000;
/// The most tokens that an action may allow for one reply.
const TOKENS_MAX: u64 = 1_000_000;
/// The most loops that an action may allow for one run.
const ITERATIONS_MAX: u64 = 10_000;
/// The largest threshold, in bytes, at which an agent is told to put parts of its memory away.
const PAGING_BYTES_MAX: u64 = 1 << 20;
const URL_BYTES_MAX: usize = 2048;
const MODEL_BYTES_MAX: usize = 256;
/// The name of a kind of provider.
pub(super) const KIND_BYTES_MAX: usize = 64;
/// Rules that were written elsewhere say it; there is no other.
pub(super) const MEMORY_TYPES: [(&str, ()); 1] = [("kv_store", ())];

const MODE_WORDS: &[&str] = &words(&MODES);
const MEMORY_WORDS: &[&str] = &words(&MEMORY_TYPES);
const DELAY: FormKind = FormKind::Measured {
    measure: Measure::Ms,
    least: 0,
    most: DAY_MS,
};
const PROVIDER_KIND: FormKind = FormKind::Text {
    bytes_max: KIND_BYTES_MAX,
};

pub(super) const FORM: &[FormRow] = &[
    KIND,
    FormRow::new(
        "prompt_path",
        PATH,
        "The prompt file [default: ./data/agent-prompt.json]",
    ),
    FormRow::new("prompt_json_path", PATH, "An older name of prompt_path"),
    FormRow::new(
        "provider",
        FormKind::Own(provider_schema),
        "The model to ask, and how; a text names the kind of the provider alone",
    ),
    FormRow::new(
        "mode",
        FormKind::Word(MODE_WORDS),
        "yolo applies changes at once, reviewed proposes them [default: the server's, else the prompt file's]",
    ),
    FormRow::new(
        "memory",
        FormKind::Object(MEMORY),
        "Where the agent keeps its memory",
    ),
    FormRow::new(
        "loop",
        FormKind::Object(LOOP),
        "Delays between loops, and how many there are at most",
    ),
    FormRow::new(
        "scope",
        FormKind::Object(scope::FORM),
        "What the agent may write",
    ),
    FormRow::new(
        "strict_mode",
        FormKind::Flag,
        "Fail a reply in which anything is not an instruction [default: false]",
    ),
    FormRow::new(
        "paging_bytes",
        FormKind::Whole {
            least: 256,
            most: PAGING_BYTES_MAX,
        },
        "Memory, in bytes, at which the agent is told to put parts of it away [default: 8192]",
    ),
    FormRow::new("request", REQUEST, "What the agent is asked"),
];

pub(super) const PROVIDER: &[FormRow] = &[
    FormRow::new(
        "provider_kind",
        PROVIDER_KIND,
        "The kind of provider, such as lmstudio [default: the server's]",
    ),
    FormRow::new(
        "base_url",
        FormKind::Text {
            bytes_max: URL_BYTES_MAX,
        },
        "The address of the provider [default: the usual one of its kind]",
    ),
    FormRow::new(
        "model",
        FormKind::Text {
            bytes_max: MODEL_BYTES_MAX,
        },
        "The model, as the provider calls it",
    ),
    FormRow::new(
        "timeout_ms",
        FormKind::Measured {
            measure: Measure::Ms,
            least: 1,
            most: TIMEOUT_MS_MAX,
        },
        "Time limit of one request, such as 90s; a number counts milliseconds [default: 5m]",
    ),
    FormRow::new(
        "max_tokens",
        FormKind::Measured {
            measure: Measure::Tokens,
            least: 1,
            most: TOKENS_MAX,
        },
        "Most tokens in a reply, such as 8k [default: 4096]",
    ),
    FormRow::new(
        "temperature",
        FormKind::Number { least: 0, most: 2 },
        "Sampling temperature, 0 to 2 [default: 0.1]",
    ),
];

const MEMORY: &[FormRow] = &[
    FormRow::new(
        "kv_store_path",
        PATH,
        "The name of the memory, such as inbox.json; not a path",
    ),
    FormRow::new(
        "retain_full_conversation_logs",
        FormKind::Flag,
        "Keep the text of replies in the log [default: false]",
    ),
    FormRow::new("type", FormKind::Word(MEMORY_WORDS), "Always kv_store"),
    FormRow::new(
        "carry_over",
        FormKind::Only(true),
        "Always true: the memory outlives its loops",
    ),
];

const LOOP: &[FormRow] = &[
    FormRow::new(
        "loop_delay_ms",
        DELAY,
        "Delay after a loop in which the agent had something to do, such as 5s; a number counts milliseconds [default: 1500]",
    ),
    FormRow::new(
        "idle_delay_ms",
        DELAY,
        "Delay after a loop that left it idle, such as 30s; a number counts milliseconds [default: 5s]",
    ),
    FormRow::new(
        "max_iterations",
        FormKind::Whole {
            least: 1,
            most: ITERATIONS_MAX,
        },
        "Most loops of a run [default: 100]",
    ),
];

/// An object, or the kind of the provider alone.
fn provider_schema() -> Value {
    json!({ "anyOf": [PROVIDER_KIND.schema(), form_schema(PROVIDER)] })
}
